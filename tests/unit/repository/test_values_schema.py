"""The schema of the chart's values is made of their comments, and is fresh."""

import pytest
import values_schema
from values_schema import CommentError, schema_of


def test_the_schema_in_the_chart_follows_the_comments_of_its_values():
    assert (values_schema.CHART / "values.schema.json").read_text("utf-8") == values_schema.written(values_schema.CHART)


def test_a_comment_is_the_description_and_the_default_tells_the_type():
    found = schema_of("# How many.\nreplicas: 2\n")
    assert found["properties"] == {"replicas": {"description": "How many.", "type": "integer", "default": 2}}


def test_only_the_lines_right_above_a_key_are_its_comment():
    found = schema_of("# The file.\n\n# One thing,\n# at length.\nname: a\n")
    assert found["properties"]["name"]["description"] == "One thing, at length."


def test_what_a_comment_adds_is_laid_over_what_the_default_tells():
    found = schema_of('# A decision.\n# @schema {type: [boolean, "null"]}\nenabled: null\n')
    assert found["properties"]["enabled"] == {
        "description": "A decision.",
        "default": None,
        "type": ["boolean", "null"],
    }


def test_a_mapping_takes_its_own_keys_and_no_others():
    found = schema_of("# Outside.\nouter:\n  # Inside.\n  inner: a\n")
    assert found["additionalProperties"] is False
    outer = found["properties"]["outer"]
    assert (outer["description"], outer["additionalProperties"]) == ("Outside.", False)
    assert outer["properties"]["inner"]["description"] == "Inside."


def test_a_value_without_a_comment_is_refused_with_its_line():
    with pytest.raises(CommentError, match="line 3: inner has no comment"):
        schema_of("# Outside.\nouter:\n  inner: a\n")


def test_a_value_without_a_default_must_say_its_type():
    with pytest.raises(CommentError, match="line 2: enabled has no default and no type"):
        schema_of("# A decision.\nenabled: null\n")
