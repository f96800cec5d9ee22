// Gives each variable of a template its slot, with the scopes that Jinja2's compiler gives it: a template, block,
// macro, loop, with, filter or set block has a scope of its own, `if` has none. A scope copies what it assigns from the
// scope around it when it is entered, and never writes it back. A name that no scope assigns is looked up in the
// context.
//
// Scopes nest in functions as in the Python that Jinja2 writes: a macro is a function, a loop is part of the function
// around it. A function finds the variables of those around it where they are, so a macro sees later assignments.
#pragma once

#include "chat/jinja/ast.h"

namespace minfer::chat::jinja {

// Fills in all plans and slots of a parsed template. Throws what Jinja2's compiler throws: TemplateAssertionError for
// an unknown filter or test, SyntaxError for a break outside of a loop.
Program resolve_scopes(Body body);

}  // namespace minfer::chat::jinja
