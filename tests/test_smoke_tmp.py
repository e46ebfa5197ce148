def test_x(trained, annotated, entities):
    for t, a in annotated:
        assert entities(trained(t)) == a["entities"]
def test_all(backbone, blank_nlp, fit, annotated, entities):
    nlp = blank_nlp(backbone); fit(nlp)
    for t, a in annotated:
        assert entities(nlp(t)) == a["entities"]
