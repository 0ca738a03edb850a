"""The rules read the same in every Python that is promised."""

import importlib
import pkgutil
import re

import streams.extraction.rules


def test_no_pattern_has_a_possessive_repeat_which_python_3_11_2_gets_wrong():
    rules = streams.extraction.rules
    names = [module.name for module in pkgutil.walk_packages(rules.__path__, f"{rules.__name__}.")]
    values = [value for name in names for value in vars(importlib.import_module(name)).values()]
    patterns = [value.pattern for value in values if isinstance(value, re.Pattern)]
    assert len(patterns) > 50
    assert [p for p in patterns if re.search(r"[*+?}]\+|\(\?>", re.sub(r"\\.|\[[^\]]*\]", "x", p))] == []
