"""Markets: documents, revisions, stores, publishing and the device simulator."""
