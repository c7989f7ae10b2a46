"""Why rows of the zoo are not as they should be: (part of the model's name, kind of exception) to a sentence.

Kinds are those of zoo_page.exceptions. "not run" is a model that onnxruntime does not run, either.
"""

EXPLANATIONS = {
}
