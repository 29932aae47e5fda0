"""The rows of the daemon's error table (lib/core/error_table.cpp), so that a test of every row misses none that is added."""

import re
from typing import NamedTuple

from kafka_lab import ROOT

TABLE = ROOT / "lib" / "core" / "error_table.cpp"
CODES = ROOT / "lib" / "base" / "broker_error.hpp"
LITERAL = r'"(?:[^"\\]|\\.)*"'
LITERALS = rf"{LITERAL}(?:\s*{LITERAL})*"


class ErrorRow(NamedTuple):
    """What the daemon does about a broker's error code, and what it tells a person; <placeholders> stand in the advice."""

    name: str
    code: int
    consequence: str
    advice: str


def read_rows() -> list[ErrorRow]:
    """All rows; ValueError where the table is not written as expected."""
    text = TABLE.read_text(encoding="utf-8")
    codes = {name: int(code) for name, code in re.findall(r"^  (\w+) = (-?\d+),", CODES.read_text(encoding="utf-8"), re.MULTILINE)}
    constants = {name: joined(value) for name, value in re.findall(rf"constexpr std::string_view (\w+) =\s*({LITERALS});", text)}
    rows = [ErrorRow(name, codes[name], consequence, constants[advice] if advice in constants else joined(advice))
            for name, consequence, advice in re.findall(rf"error_row\{{kafka_error::(\w+), (\w+),\s*({LITERALS}|\w+)\}}", text)]
    if not rows or len(rows) != text.count("error_row{"):
        raise ValueError(f"{TABLE}: {len(rows)} rows understood of {text.count('error_row{')}")
    return rows


def joined(literals: str) -> str:
    """The text of neighbouring C++ string literals."""
    return "".join(part[1:-1] for part in re.findall(LITERAL, literals))
