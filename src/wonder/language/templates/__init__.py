"""Templates (ACT-9): Handlebars without HTML escaping, compiled once, and bounded in all that they do."""

from wonder.language.templates.faults import TemplateSyntax, TemplateTooLarge, TemplateVariableMissing
from wonder.language.templates.template import OUTPUT_MAX, Template, compile_template

__all__ = [
    "OUTPUT_MAX",
    "Template",
    "TemplateSyntax",
    "TemplateTooLarge",
    "TemplateVariableMissing",
    "compile_template",
]
