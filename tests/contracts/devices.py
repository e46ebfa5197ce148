"""Stand-ins for an accelerator, on a machine that has none.

PyTorch's FakeTensorMode computes shapes and devices and no numbers, and an operation
on tensors of two devices raises. The device is "lazy": it is in every build and none of
our code knows it, while a build without CUDA cannot index a fake tensor on "cuda".
Arrays of such a device are `DeviceArray`, backed by numpy, which refuse numpy's own
arrays as cupy's do.
"""

import numpy
import torch
from thinc.api import NumpyOps
from torch._subclasses.fake_tensor import FakeTensorMode

DEVICE = torch.device("lazy")


class DeviceArray(numpy.lib.mixins.NDArrayOperatorsMixin):
    """An array that is not on the host."""

    def __init__(self, array):
        self.on_host = numpy.asarray(array)

    def __array__(self, *args, **kwargs):
        raise TypeError("implicit conversion of a device's array to numpy")

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **kwargs):
        kwargs = {key: unwrap(value) for key, value in kwargs.items()}
        if out:
            kwargs["out"] = tuple(each.on_host for each in out)
        done = getattr(ufunc, method)(*map(unwrap, inputs), **kwargs)
        return out[0] if out else DeviceArray(done)

    def __getitem__(self, index):
        return DeviceArray(self.on_host[unwrap(index)])

    def __setitem__(self, index, value):
        self.on_host[unwrap(index)] = unwrap(value)

    def __len__(self):
        return len(self.on_host)

    def __bool__(self):
        raise TypeError("a device is asked for a value")

    __int__ = __float__ = __index__ = __iter__ = __bool__

    shape = property(lambda self: self.on_host.shape)
    dtype = property(lambda self: self.on_host.dtype)
    T = property(lambda self: DeviceArray(self.on_host.T))


def _method(name):
    def call(self, *args, **kwargs):
        return DeviceArray(getattr(self.on_host, name)(*args, **kwargs))

    return call


for _name in ("astype", "max", "argmax", "sum", "copy"):
    setattr(DeviceArray, _name, _method(_name))


def unwrap(value):
    """What numpy is to compute with in place of a device's array."""
    if isinstance(value, DeviceArray):
        return value.on_host
    if isinstance(value, (list, tuple)):
        return type(value)(unwrap(each) for each in value)
    if isinstance(value, numpy.ndarray) and value.ndim:
        raise TypeError("a numpy array is mixed with a device's")
    return value


class RawKernel:
    """Asks where its arguments are, and computes nothing."""

    def __init__(self, source, name):
        assert f"void {name}(" in source

    def __call__(self, grid, block, arguments, **settings):
        assert all(isinstance(a, (DeviceArray, numpy.generic)) for a in arguments)


class DeviceModule:
    """The functions of cupy: those of numpy, for a device's arrays."""

    RawKernel = RawKernel

    @staticmethod
    def asarray(array):
        return DeviceArray(array)

    @staticmethod
    def asnumpy(array):
        return array.on_host

    def __getattr__(self, name):
        def call(*args, **kwargs):
            kwargs = {key: unwrap(value) for key, value in kwargs.items()}
            return DeviceArray(getattr(numpy, name)(*map(unwrap, args), **kwargs))

        return call


def get_array_module(array):
    """As Thinc's."""
    return DeviceModule() if isinstance(array, DeviceArray) else numpy


def to_array(tensor, *, ops=None):
    """As Thinc's torch2xp: an array on the device, or on the host where `ops` are the
    host's; its numbers say nothing. No memory cannot be shared."""
    assert tensor.device == DEVICE
    if isinstance(ops, NumpyOps):
        return numpy.zeros(
            tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")
        )
    assert tensor.numel()
    some = numpy.linspace(0.1, 0.9, num=int(numpy.prod(tensor.shape)))
    if not tensor.is_floating_point():
        some = numpy.zeros(tensor.shape)
    dtype = str(tensor.dtype).removeprefix("torch.")
    return DeviceArray(some.reshape(tuple(tensor.shape)).astype(dtype))


def fake_mode():
    """A mode in which tensors have a device and no numbers."""
    return FakeTensorMode(allow_non_fake_inputs=True)


def move(network):
    """Put a network on the device: within `fake_mode`."""
    moved = {}
    for module in network.modules():
        for tensors in (module._parameters, module._buffers):
            for name, tensor in tensors.items():
                if tensor is not None:
                    if tensor not in moved:  # a tied one stays tied
                        is_parameter = isinstance(tensor, torch.nn.Parameter)
                        there = torch.empty_like(tensor, device=DEVICE)
                        moved[tensor] = (
                            torch.nn.Parameter(there) if is_parameter else there
                        )
                    tensors[name] = moved[tensor]
