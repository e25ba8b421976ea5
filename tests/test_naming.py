"""What a row is called: a model of the plan by its settings alone, anything else by what it has."""

from __future__ import annotations

from minipinet.baselines.system import system_named
from minipinet.experiments.plan import MODELS
from minipinet.results.naming import Name, name_row
from tests.small_rows import row
from tests.table_rows import PLAIN, by_name, folds


def test_names_are_those_of_the_plan() -> None:
    for model in MODELS:
        (other,) = folds([0.5], model, experiment="message-passing")
        assert name_row(other) == Name(model)
    assert name_row(folds([0.5], "pinet-p1q0")[0]).model == "pinet-manual"
    assert name_row(folds([0.5], "pinet-p1q0", quick=True)[0]).model == "pinet-manual (quick)"
    assert name_row(folds([0.5], "pinet-p1q0", dataset="NCI1")[0]).model == "pinet-p1q0"
    assert name_row(folds([0.5], "pinet-p1q1", dataset="NCI1")[0]).model == "pinet-manual"
    assert name_row(folds([0.5], "pinet-p0q0", dataset="PTC_FR")[0]).model == "pinet-manual"


def test_protocols_have_settings_of_their_own() -> None:
    cell = PLAIN._replace(system="pinet")
    settings = system_named("pinet").settings
    released = row(cell._replace(protocol="released"), settings={**settings, "steps_per_epoch": 1})
    assert name_row(released).model == "pinet"
    assert name_row(released._replace(settings=settings)).model == "pinet, was steps_per_epoch=null"
    chosen = system_named("pinet").grid()[-1].settings
    assert name_row(row(cell._replace(protocol="fair"), settings=chosen)).model == "pinet"


def test_a_system_or_setting_that_is_not_known_here_is_named_as_it_is() -> None:
    odd = PLAIN._replace(system="deep|er", variant='{"a_b":[1,"%"]}')
    assert name_row(row(odd)).model == 'deep|er a_b=[1,"%"]'
    assert name_row(row(odd._replace(system="pinet"))).model == 'pinet a_b=[1,"%"]'
    assert "tests" in by_name([*folds([0.5]), row(odd)])
