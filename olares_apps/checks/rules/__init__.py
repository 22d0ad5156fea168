"""The rules, one module per thing that they look at; ``checks.table`` lists them all."""
