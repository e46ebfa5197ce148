"""Names of common classes in languages other than English, and what they mean.

The masked LM knows classes best by their English names. Words that mean something else
in English, or in another of these languages, are left out.
"""

from typing import Dict

# Catalan, Spanish, Galician, Portuguese, Italian, French, Romanian; German, Dutch,
# Danish, Swedish, Norwegian, Icelandic; Polish, Czech, Slovak, Slovenian, Croatian,
# Serbian, Russian, Ukrainian, Bulgarian; Lithuanian, Latvian; Finnish, Estonian,
# Hungarian; Greek, Turkish, Indonesian, Vietnamese, Basque, Irish.
NATIVE_NAMES: Dict[str, str] = {
    "person": (
        "persoa pessoa personne persoană persoana personas pessoas personnes persone "
        "personen mensch menschen persoon personer individ persóna maður osoba osoby "
        "oseba osebe człowiek člověk človek čovjek особа лицо персона человек человека "
        "людина човек лице личност asmuo žmogus cilvēks henkilö ihminen isik inimene "
        "személy ember πρόσωπο άτομο άνθρωποσ kişi insan şahıs orang người pertsona "
        "duine лица"
    ),
    "location": (
        "local lloc lugar luogo lieu ort orte ortsname ortschaft plaats locatie sted "
        "steder plats ställe staður miejsce lokalizacja místo miesto lokacija mjesto "
        "место локация місце локація място местоположение lokalitet lokalisierung "
        "vieta paikka sijainti koht asukoht hely helyszín τόποσ τοποθεσία yer konum "
        "mekan lokasi tempat địa-điểm leku kokapen áit ubicación ubicacion localização "
        "localizacao localidade lugares luoghi lieux localisation località localidad "
        "lokation"
    ),
    "organization": (
        "organització organización organizacion organização organizacao organizzazione "
        "organisatie organizație organizatie organisaatio organisasjon organisationen "
        "samtök stofnun organizacja organizace organizácia organizacija организация "
        "організація организација organizācija järjestö organisatsioon szervezet "
        "οργανισμόσ οργάνωση kuruluş örgüt organisasi tổ-chức erakunde antolakunde "
        "eagraíocht organizaciones organizações organizzazioni organisationer "
        "organizacije"
    ),
    "company": (
        "empresa empreses empresas azienda impresa societa società entreprise société "
        "companie firmă unternehmen firma firmen bedrijf virksomhed selskab företag "
        "bolag bedrift selskap fyrirtæki przedsiębiorstwo spółka společnost podnik "
        "spoločnosť podjetje poduzeće tvrtka предузеће компания фирма предприятие "
        "компанія підприємство įmonė bendrovė uzņēmums yritys ettevõte vállalat cég "
        "εταιρεία επιχείρηση şirket perusahaan công-ty enpresa comhlacht"
    ),
    "city": (
        "ciutat ciudad cidade città ville oraș oras stadt städte stad borg miasto "
        "město mesto grad град город місто miestas pilsēta kaupunki linn város πόλη "
        "şehir kota thành-phố hiri cathair ciudades cidades gemeente miejscowość"
    ),
    "country": (
        "país pais paese paesi pays țară tara länder staat landet lönd państwo země "
        "krajina štát država држава страна государство країна държава šalis valstybė "
        "valsts maa riik ország χώρα ülke negara quốc-gia herrialde tír"
    ),
    "date": (
        "data fecha datum dato dagsetning datas dátum дата datums päivämäärä päiväys "
        "kuupäev ημερομηνία tarih tanggal ngày eguna dáta fechas"
    ),
    "time": (
        "tiempo hora ora heure uhrzeit zeit tijd tid tími czas čas време время час "
        "laikas laiks aika aeg idő χρόνοσ ώρα zaman waktu thời-gian denbora"
    ),
    "event": (
        "esdeveniment evento acontecimiento événement evenement eveniment ereignis "
        "veranstaltung gebeurtenis begivenhed hændelse händelse evenemang hendelse "
        "atburður wydarzenie zdarzenie událost udalosť dogodek događaj догађај событие "
        "мероприятие подія събитие įvykis notikums tapahtuma sündmus esemény γεγονόσ "
        "εκδήλωση olay etkinlik peristiwa acara sự-kiện gertaera ócáid"
    ),
    "product": (
        "producte producto produto prodotto produit produs produkte erzeugnis varer "
        "vara izdelek proizvod производ продукт изделие товар produktas produkts tuote "
        "toode termék προϊόν ürün produk sản-phẩm produktu táirge"
    ),
    "other name": (
        "altres otras demás altro altri autres altele sonstiges sonstige verschiedenes "
        "andere anderes overig overige andet øvrigt annet annað övrigt övrig inne inny "
        "jiné jiný iné drugo ostalo остало прочее другое разное інше друго citi muu "
        "muut egyéb άλλο άλλα diğer lainnya khác beste-bat eile outros diversos vari "
        "divers"
    ),
    "disease": (
        "malaltia enfermedad enfermidade doença doenca malattia maladie boală boala "
        "krankheit krankheiten ziekte sygdom sjukdom sykdom sjúkdómur choroba nemoc "
        "bolezen bolest болест болезнь заболевание хвороба захворювання заболяване "
        "slimība sairaus tauti haigus betegség ασθένεια νόσοσ hastalık penyakit bệnh "
        "gaixotasun galar enfermedades doenças malattie maladies choroby"
    ),
    "drug": (
        "fàrmac fármaco farmaco médicament medicament medicamento medikament "
        "arzneimittel arznei geneesmiddel medicijn lægemiddel läkemedel legemiddel lyf "
        "lek leki lék léčivo liek zdravilo lijek лек лекарство препарат ліки лекарства "
        "vaistas zāles lääke ravim gyógyszer φάρμακο ilaç obat thuốc sendagai cógas"
    ),
    "symptom": (
        "síntoma sintoma sintomo symptôme symptome simptom oireet oire sümptom tünet "
        "σύμπτωμα belirti gejala симптом simptomas simptoms objaw příznak príznak"
    ),
    "work of art": (
        "obra opera-d-arte œuvre oeuvre kunstwerk werk konstverk kunstværk kunstverk "
        "dzieło dílo dielo umetnina umjetničko-delo дело-уметности произведение твір "
        "kūrinys mākslas-darbs teos taideteos kunstiteos műalkotás έργο sanat-eseri "
        "karya-seni tác-phẩm"
    ),
    "language": (
        "llengua idioma lingua língua langue limbă limba sprache taal sprog språk "
        "tungumál język jazyk jezik језик язык мова език kalba valoda kieli keel nyelv "
        "γλώσσα dil bahasa ngôn-ngữ hizkuntza teanga"
    ),
    "amount of money": (
        "dinero dinheiro denaro bani geld geldbetrag bedrag penge beløb pengar belopp "
        "penger pieniądze kwota peníze peniaze denar novac новац деньги гроші пари "
        "pinigai nauda raha rahamäärä pénz χρήματα uang tiền diru"
    ),
    "occupation": (
        "professió profesión profesion profissão profissao professione métier meserie "
        "profesie beruf beroep erhverv yrke starfsgrein zawód povolání povolanie "
        "poklic zanimanje занимање профессия професія професия profesija ammatti "
        "elukutse foglalkozás επάγγελμα meslek profesi pekerjaan nghề-nghiệp lanbide"
    ),
    "river": (
        "riu río rio fiume rivière fleuve râu fluss rivier flod älv elv rzeka řeka "
        "rieka rijeka река ріка річка upė upe joki jõgi folyó ποτάμι nehir sungai sông"
    ),
    "mountain": (
        "muntanya montaña montanha montagna montagne munte berg fjell bjerg góra gora "
        "planina гора планина kalnas kalns vuori mägi hegy βουνό dağ gunung núi"
    ),
    "street": "carrer calle strada strasse straat gade gata gate ulica улица",
    "address": (
        "adreça dirección direccion endereço endereco indirizzo adresse adresă adres "
        "adress adresa адрес адреса adresas adrese osoite aadress cím διεύθυνση alamat"
    ),
    "law": (
        "llei lei legge loi lege gesetz wet lov lög ustawa zákon zakon закон įstatymas "
        "likums laki seadus törvény νόμοσ kanun yasa undang-undang"
    ),
    "animal": (
        "animale tiere dier dyr djur dýr zwierzę zvíře zviera žival životinja животиња "
        "животное тварина животно gyvūnas dzīvnieks eläin állat ζώο hayvan hewan "
        "binatang động-vật"
    ),
    "plant": (
        "planta pianta plante plantă pflanze pflanzen växt roślina rostlina rastlina "
        "biljka биљка растение рослина augalas augs kasvi taim növény φυτό bitki "
        "tanaman"
    ),
    "food": (
        "alimento comida cibo nourriture aliment mâncare lebensmittel voedsel "
        "livsmedel matvarer jedzenie żywność jídlo potravina hrana храна еда їжа "
        "maistas ēdiens ruoka toit étel élelmiszer τρόφιμο yiyecek makanan thức-ăn"
    ),
    "political party": (
        "partit partido partito parti-politique partei partij politisk-parti partia "
        "stranka странка партия партія puolue erakond puolueet κόμμα partai"
    ),
    "number": (
        "número numero zahl nummer getal antal liczba číslo število broj број число "
        "skaičius skaitlis luku szám αριθμόσ sayı angka"
    ),
    "chemical": "chemikalie química substanz stoff kemikalie",
    "vehicle": (
        "vehículo veículo veicolo véhicule fahrzeug voertuig køretøj fordon kjøretøy "
        "pojazd vozidlo vozilo возило транспорт автомобиль ajoneuvo sõiduk jármű όχημα "
        "araç kendaraan"
    ),
    "court": "tribunal tribunale gericht rechtbank domstol sąd soud súd sodišče суд",
    "judge": "juez juiz giudice juge richter rechter dommer domare sędzia судья",
}
