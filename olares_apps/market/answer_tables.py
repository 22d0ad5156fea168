"""What a server in another language needs of the answers, as data.

Before the head moves, the Worker checks new detail documents by these types and makes the lists
of a revision once more with these texts, so it and the publisher agree because they read the
same table.
"""

import json
from typing import Final

from olares_apps.market import answers, conformance, documents, front_page

__all__ = ["TABLES_FILE", "tables_text"]

TABLES_FILE: Final = "market_worker/src/contract.json"


def tables_text() -> str:
    """Return what a detail may hold, and every fixed text of answers and pages."""
    tables = {
        "detail": {
            "texts": sorted(conformance.APP_TEXTS),
            "text_lists": sorted(conformance.APP_TEXT_LISTS),
            "objects": sorted(conformance.APP_OBJECTS),
            "object_lists": sorted(conformance.APP_OBJECT_LISTS),
            "text_or_map": sorted(conformance.APP_TEXT_OR_MAP),
            "booleans": ["onlyAdmin"],
            "numbers": ["rating"],
            "characters": conformance.COLUMNS,
        },
        "no_page": answers.NO_PAGE,
        "front_page": {"ranked": documents.RANKED, **front_page.tables()},
    }
    return json.dumps(tables, indent=1, sort_keys=True) + "\n"
