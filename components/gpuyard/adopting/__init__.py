"""A cluster that runs, taken into a stack: the id of each resource of its graph, as `pulumi import` takes it.

`identities` knows the forms of ids, `looks` what a cloud is asked, `matching` whose an answer is; `searching`
goes from one to the next, and `import_file` writes down what was found.
"""
