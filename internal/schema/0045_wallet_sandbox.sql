-- +goose Up

-- The accounts of resellers' sandboxes. Their money is play money: the company's side of it
-- stands in ledger accounts of its own, whose names begin with "sandbox:".
CREATE TABLE wallet_sandboxes (
    account_id BIGINT PRIMARY KEY
);
