"""Pictures drawn from facts: the icon of an app and the picture that links to it show.

Everything is drawn here, letters included, with whole-number results and an own PNG writer, so
the same facts give the same bytes on every Python and no font or image library is needed.
"""
