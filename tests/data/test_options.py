"""Options and configurations: what is accepted, and each fault once, by its code and its place."""

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from synthesizer.data.errors import OptionError
from synthesizer.data.options import Count, Names, Positive, options, sentences


@options
class Walk:
    steps: Count = 3
    pace: Positive | None = 1.0
    on: bool = False
    past: Names = ("river",)


def test_options_take_whole_numbers_for_floats_and_no_other_type_for_another():
    assert Walk(pace=2, past=["a", "b"]) == Walk(pace=2.0, past=("a", "b"))
    for wrong in ({"steps": "3"}, {"steps": 2.5}, {"pace": "1"}, {"on": 1}, {"pace": 0}):
        ((name, _),) = wrong.items()
        with pytest.raises(OptionError) as caught:
            Walk(**wrong)
        assert [str(p).partition(" ")[0] for p in caught.value.problems] == [name]
    with pytest.raises(OptionError) as caught:
        Walk(steps=0, pace=-1, far=2, past=["a", 3])
    faults = [str(problem) for problem in caught.value.problems]
    assert len(faults) == 4
    assert "unknown option 'far'" in faults


class Cat(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["dog"] = "dog"
    owner: str


class Zoo(BaseModel):
    model_config = ConfigDict(extra="forbid")
    pets: list[Annotated[Cat | Dog, Field(discriminator="kind")]] = Field(default_factory=list)
    size: dict[str, int] | tuple[int, ...] = ()
    random_key: int = 0


@pytest.mark.parametrize(
    ("content", "prefix", "code", "part"),
    [
        ({"sise": 1}, "sise", "unknown_key", "'size'"),
        ({"size": "x"}, "size: ", "wrong_value", "a map or a list"),
        ({"pets": [{"kind": "dog"}]}, "pets.1.owner: ", "missing_key", "is needed"),
        ({"random_key": "HIDDEN"}, "random_key", "wrong_value", "a whole number"),
        ({"pets": [{"kind": "cat", "lifes": 3}]}, "pets.1.lifes: ", "unknown_key", "'lives'"),
    ],
)
def test_a_fault_has_its_place_its_code_and_a_remedy(content, prefix, code, part):
    with pytest.raises(ValidationError) as caught:
        Zoo.model_validate(content)
    (sentence,) = sentences(Zoo, content, caught.value.errors(include_url=False))
    assert sentence.startswith(prefix)
    assert sentence.code == code
    assert part in sentence
    assert "HIDDEN" not in sentence
