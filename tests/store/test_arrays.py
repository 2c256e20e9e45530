import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from topiary.store import arrays
from topiary.store.errors import DamagedArrays, StoreError

DTYPES = ["bool", "int8", "uint16", "int32", "int64", "uint64", "float16", "float32", "float64"]


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (7, 5), (2, 3, 4)])
def test_arrays_of_every_type_and_shape_come_back_bit_for_bit(dtype, shape):
    array = np.random.default_rng(1).integers(0, 2, shape).astype(dtype)
    back = arrays.unpack_arrays(arrays.pack_arrays({"phi.0": array}))["phi.0"]
    assert same_bits(array, back)


@given(hnp.arrays(st.sampled_from(DTYPES), hnp.array_shapes(min_dims=0, min_side=0, max_side=4)))
def test_any_array_comes_back_bit_for_bit(array):
    assert same_bits(array, arrays.unpack_arrays(arrays.pack_arrays({"a": array, "b": array}))["b"])


def test_nan_payloads_infinities_and_negative_zeros_survive():
    bits = np.array([0x7FF8000000000001, 0xFFF8000000000000, 0x8000000000000000, 0x7FF0000000000000], dtype=np.uint64)
    back = arrays.unpack_arrays(arrays.pack_arrays({"x": bits.view(np.float64)}))["x"]
    assert back.view(np.uint64).tolist() == bits.tolist()


def test_large_arrays_come_back_compressed_or_not():
    rng = np.random.default_rng(2)
    sparse = np.zeros(arrays.PIECE_BYTES // 8 + 1000)
    sparse[::50] = 1.5
    noise = rng.integers(0, 2**63, arrays.PIECE_BYTES // 8 + 1000)
    blob = arrays.pack_arrays({"sparse": sparse, "noise": noise})
    assert len(blob) < noise.nbytes + sparse.nbytes / 5
    back = arrays.unpack_arrays(blob)
    assert same_bits(sparse, back["sparse"])
    assert same_bits(noise, back["noise"])


def test_columns_first_and_foreign_byte_order_become_plain_arrays_of_the_same_values():
    array = np.arange(6.0).reshape(2, 3)
    back = arrays.unpack_arrays(
        arrays.pack_arrays({"f": np.asfortranarray(array), "b": array.astype(">f8"), "s": array[:, ::2]})
    )
    assert same_bits(back["f"], array)
    assert same_bits(back["b"], array)
    assert same_bits(back["s"], array[:, ::2].copy())


def test_single_stores_only_doubles_as_float32():
    back = arrays.unpack_arrays(arrays.pack_arrays({"r": np.full(3, 1 / 3), "k": np.arange(3)}, single=True))
    assert same_bits(back["r"], np.full(3, 1 / 3, dtype=np.float32))
    assert back["k"].dtype == np.int64


def test_unpacked_arrays_can_be_written_and_share_nothing():
    blob = arrays.pack_arrays({"a": np.zeros(3)})
    arrays.unpack_arrays(blob)["a"][:] = 7
    assert arrays.unpack_arrays(blob)["a"].tolist() == [0, 0, 0]


def test_only_the_named_arrays_are_read():
    blob = arrays.pack_arrays({"a": np.arange(3), "b": np.arange(4), "c": np.arange(5)})
    assert list(arrays.unpack_arrays(blob, only=("b",))) == ["b"]


def test_numpy_reads_what_was_packed(tmp_path):
    given = {
        "phi.0": np.arange(6.0).reshape(2, 3),
        "zeros": np.zeros(5000, np.int32),
        "none": np.zeros(0),
        "t": np.array(3),
    }
    (tmp_path / "arrays.npz").write_bytes(arrays.pack_arrays(given))
    with np.load(tmp_path / "arrays.npz", allow_pickle=False) as back:
        assert list(back) == list(given)
        assert all(same_bits(given[name], back[name]) for name in given)
    assert arrays.read_shapes((tmp_path / "arrays.npz").read_bytes()) == {
        name: array.shape for name, array in given.items()
    }


def stream(array, *edges):
    """An array given in runs of rows."""
    runs = np.split(array, edges)
    return arrays.StreamedArray(arrays.ArrayLayout(array.dtype.str, array.shape), runs)


def test_a_message_in_parts_is_put_together_and_parts_of_its_arrays_can_be_read(monkeypatch):
    monkeypatch.setattr(arrays, "PIECE_BYTES", 1000)
    monkeypatch.setattr(arrays, "PART_BYTES", 3000)
    given = {
        "a": noise(2000),
        "b": np.zeros((0, 3)),
        "c": np.ones(3),
        "d": noise(900).reshape(300, 3),
        "t": np.array(7.5),
    }
    parts = list(arrays.write_parts(given | {"d": stream(given["d"], 1, 120, 121)}))
    assert len(parts) > 5
    assert {name: (layout.dtype, layout.shape) for name, layout in arrays.read_layouts(parts[0]).items()} == {
        name: (array.dtype.str, array.shape) for name, array in given.items()
    }
    back = arrays.read_parts(parts, lambda name, layout: slice(None))
    assert list(back) == list(given)
    assert all(same_bits(given[name], back[name]) for name in given)
    wanted = {"d": slice(119, 130), "a": slice(0, 0)}
    rows = arrays.read_parts(parts, lambda name, layout: wanted.get(name))
    assert same_bits(rows["d"], given["d"][119:130])
    assert (list(rows), len(rows["a"])) == (["a", "d"], 0)


def test_parts_that_are_missing_or_altered_are_noticed(monkeypatch):
    monkeypatch.setattr(arrays, "PART_BYTES", 3000)
    parts = list(arrays.write_parts({"a": noise(300), "b": noise(300)[::-1].copy()}))
    assert len(parts) == 2
    arrays.verify_parts(parts)
    for less in ([], parts[:1], parts[1:]):
        with pytest.raises(DamagedArrays, match="parts of them are missing"):
            arrays.read_parts(less, lambda name, layout: slice(None)) if less else arrays.verify_parts(less)
    with pytest.raises(DamagedArrays, match="parts of them are missing"):
        arrays.verify_parts(parts[:1])
    altered = bytearray(parts[1])
    altered[9] ^= 1
    for read in (arrays.verify_parts, lambda given: arrays.read_parts(given, lambda name, layout: slice(None))):
        with pytest.raises(DamagedArrays, match="a checksum does not fit"):
            read([parts[0], bytes(altered)])


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([{}], dtype=object), np.array([1j])])
def test_text_and_objects_are_refused_by_name(array):
    with pytest.raises(StoreError, match="array 'names' has type"):
        arrays.pack_arrays({"names": array})


def noise(count):
    """Numbers that do not compress."""
    return np.random.default_rng(3).integers(0, 2**63, count)


@pytest.mark.parametrize("given", [np.zeros(2000), noise(300)], ids=["compressed", "as it is"])
def test_every_flipped_bit_is_noticed(given):
    whole = arrays.pack_arrays({"a": given})
    rng = np.random.default_rng(4)
    for place in {*range(60), *rng.integers(0, len(whole), 200).tolist(), len(whole) - 1}:
        blob = bytearray(whole)
        blob[place] ^= 1 << int(rng.integers(8))
        with pytest.raises(DamagedArrays):
            arrays.unpack_arrays(bytes(blob))
        with pytest.raises(DamagedArrays):
            arrays.verify_arrays(bytes(blob))


@pytest.mark.parametrize("damage", ["cut", "flip", "mark", "empty"])
def test_damaged_bytes_are_refused_with_a_sentence(damage):
    blob = bytearray(arrays.pack_arrays({"a": np.zeros(10_000)}))
    if damage == "cut":
        blob = blob[:-1]
    elif damage == "flip":
        blob[-8] ^= 1
    elif damage == "mark":
        blob[0] ^= 1
    else:
        blob = bytearray()
    with pytest.raises(DamagedArrays, match="damaged"):
        arrays.unpack_arrays(bytes(blob))
