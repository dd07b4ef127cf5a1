-- +goose Up

-- Services that were sold by another system and go on here. The service is opened with the time that is paid there.
CREATE TABLE services_imported (
    service_id  BIGINT  NOT NULL PRIMARY KEY REFERENCES services (id), -- the service
    source      TEXT    NOT NULL,                       -- name of the installation that sold it
    source_id   TEXT    NOT NULL,                       -- its id there
    paid_until  BIGINT  NOT NULL,                       -- until when it is paid there
    paid        BIGINT  NOT NULL CHECK (paid >= 0),     -- what a period cost there, in US cents
    -- why it is suspended there, and so here once it has its account; NULL where it works
    suspended   TEXT    CHECK (suspended IN ('unpaid', 'manual')),
    imported_at BIGINT  NOT NULL                        -- when it was imported
);
-- What is imported twice is one service.
CREATE UNIQUE INDEX services_imported_source ON services_imported (source, source_id);
