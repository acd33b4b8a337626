"""Models that are changed at random: in their bytes, or field by field as their schema has them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from google.protobuf.descriptor import FieldDescriptor as Field
from google.protobuf.message import Message
from onnx import ModelProto

INTEGERS = (0, 1, -1, 2, 3, 7, 16, 2**31 - 1, 2**31, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63))
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 1e30, float("inf"), -float("inf"), float("nan"))
WORDS = ("", "x", "y", "Identity", "If", "Loop", "Add", "Reshape", "ai.onnx.ml", "\0", "é" * 40)
NUMBERS = {Field.CPPTYPE_FLOAT: FLOATS, Field.CPPTYPE_DOUBLE: FLOATS}
NARROW = {Field.CPPTYPE_INT32: 2**31 - 1, Field.CPPTYPE_UINT64: 2**64 - 1}


def mutated(model: ModelProto, random: Random) -> bytes:
    """The bytes of a model that is damaged in up to three places."""
    if random.random() < 0.15:
        return damaged(model.SerializeToString(), random)
    copy = ModelProto()
    copy.CopyFrom(model)
    for _ in range(random.randint(1, 3)):
        change(copy, random)
    return copy.SerializeToString()


def damaged(data: bytes, random: Random) -> bytes:
    """Bytes that are cut short, or of which a few are others."""
    if random.random() < 0.3:
        return data[: random.randrange(len(data) + 1)]
    changed = bytearray(data)
    for _ in range(random.randint(1, 4)):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


def change(model: ModelProto, random: Random) -> None:
    """Change one field of one message in a model."""
    messages = [*within(model)]
    message = random.choice([each for each in messages if each.ListFields()])
    field, value = random.choice(message.ListFields())
    if field.is_repeated:
        change_list(value, field, message, messages, random)
    elif field.message_type is None:
        setattr(message, field.name, other(field, value, messages, random))
    elif random.random() < 0.5:
        message.ClearField(field.name)
    else:
        replace(value, messages, random)


def within(message: Message) -> Iterator[Message]:
    """A message and all in it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else [value]:
                yield from within(each)


def change_list(
    values: Any, field: Field, message: Message, messages: list[Message], random: Random
) -> None:
    """Drop, repeat, move or change an element of a repeated field."""
    at = random.randrange(len(values))
    match random.randrange(4):
        case 0:
            del values[at]
        case 1:
            values.append(values[at])
        case 2:
            values.insert(random.randrange(len(values)), values.pop(at))
        case _ if field.message_type is not None:
            replace(values[at], messages, random)
        case _:
            values[at] = other(field, values[at], messages, random)


def replace(message: Message, messages: list[Message], random: Random) -> None:
    """Make a message like another of its type, which may hold it."""
    taken = type(message)()
    taken.CopyFrom(random.choice([each for each in messages if type(each) is type(message)]))
    message.CopyFrom(taken)


def other(field: Field, value: Any, messages: list[Message], random: Random) -> Any:
    """Another value for a field."""
    if field.cpp_type == Field.CPPTYPE_STRING:
        if isinstance(value, bytes):
            return damaged(value or b"x", random)
        return random.choice([*WORDS, *texts(messages)])
    if field.cpp_type == Field.CPPTYPE_ENUM:
        return random.choice([each.number for each in field.enum_type.values])
    if field.cpp_type in NUMBERS:
        return random.choice(NUMBERS[field.cpp_type])
    found = random.choice([*INTEGERS, value + 1, value - 1])
    most = NARROW.get(field.cpp_type, 2**63 - 1)
    low = 0 if field.cpp_type == Field.CPPTYPE_UINT64 else -most - 1
    return max(low, min(most, found))


def texts(messages: list[Message]) -> list[str]:
    """The strings in messages: names of values, operators and domains."""
    return [
        each
        for message in messages
        for field, value in message.ListFields()
        if field.cpp_type == Field.CPPTYPE_STRING
        for each in (value if field.is_repeated else [value])
        if isinstance(each, str)
    ]
