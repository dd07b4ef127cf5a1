-- +goose Up

-- The accounts of the double-entry ledger. A customer has three: customer is what can be spent, held what is set aside
-- for orders in processing, debt what a charge-back found already spent. The company's are named by what they count and
-- bear no running balance, so that no row is common to the transactions of all customers. Ledger accounts are never
-- deleted.
CREATE TABLE wallet_ledger_accounts (
    id       {{id}},
    -- customer, held and debt are customers'; clearing (one for each gateway), fees, revenue and adjustments are the
    -- company's
    kind     TEXT    NOT NULL CHECK (kind IN ('customer', 'held', 'debt', 'clearing', 'fees', 'revenue',
        'adjustments')),
    owner_id BIGINT  NOT NULL, -- the customer's account; 0 for the company
    -- of the company's accounts: what it counts, such as the gateway; play money of sandboxes stands under names that
    -- begin with sandbox:
    name     TEXT    NOT NULL DEFAULT '',
    balance  BIGINT,           -- of customers: the sum of the postings, in US cents; NULL for the company
    -- of customers: somebody wants to know when the balance changes. It stands here to be read with the balance, under
    -- its lock
    watched  BOOLEAN NOT NULL DEFAULT FALSE,
    UNIQUE (owner_id, kind, name),
    CONSTRAINT wallet_balance_kept CHECK ((owner_id <> 0) = (balance IS NOT NULL)),
    CONSTRAINT wallet_owner CHECK ((kind IN ('customer', 'held', 'debt')) = (owner_id <> 0)),
    CONSTRAINT wallet_balance_not_negative CHECK (kind NOT IN ('customer', 'held') OR balance >= 0),
    CONSTRAINT wallet_debt_not_positive CHECK (kind <> 'debt' OR balance <= 0)
);

-- Movements of money, as the customer sees them; appended, never changed.
CREATE TABLE wallet_transactions (
    id             {{id}},
    account_id     BIGINT NOT NULL, -- the customer's account
    -- what moved the money; captures take what was set aside and are shown to nobody
    type           TEXT   NOT NULL CHECK (type IN ('topup', 'charge', 'capture', 'refund', 'adjustment', 'bonus',
        'sla_credit', 'referral_reward', 'chargeback', 'reversal', 'repayment')),
    amount         BIGINT NOT NULL, -- change of what can be spent, in US cents; below zero when it is spent
    balance_after  BIGINT NOT NULL CHECK (balance_after >= 0), -- what could be spent afterwards, in US cents
    description    TEXT   NOT NULL, -- what the history shows
    reference_type TEXT   NOT NULL, -- kind of thing that the money moved for, such as order
    reference_id   BIGINT NOT NULL, -- id of that thing
    -- tells repeated movements of one reference apart, such as partial refunds
    part           BIGINT NOT NULL DEFAULT 0,
    client_ref     TEXT,            -- the tag that a reseller gave the order; NULL without one
    created_at     BIGINT NOT NULL, -- when the money moved
    UNIQUE (reference_type, reference_id, type, part)
);
CREATE INDEX wallet_transactions_history ON wallet_transactions (account_id, id) WHERE type <> 'capture';
CREATE INDEX wallet_transactions_client ON wallet_transactions (account_id, client_ref, id) WHERE type <> 'capture';
CREATE INDEX wallet_transactions_created ON wallet_transactions (account_id, created_at) WHERE type <> 'capture';

-- The legs of a movement; those of one transaction sum to zero. PostgreSQL does not check that the ledger account is
-- there: the check locks its row, which many share that post at the same time, and is much dearer than the posting
-- itself.
CREATE TABLE wallet_postings (
    id                {{id}},
    transaction_id    BIGINT NOT NULL REFERENCES wallet_transactions (id), -- the movement
    ledger_account_id BIGINT NOT NULL,                     -- the account that it is posted to (wallet_ledger_accounts)
    amount            BIGINT NOT NULL CHECK (amount <> 0), -- in US cents; above zero adds to the account
    balance_after     BIGINT, -- the account's balance afterwards, in US cents; NULL for the company's accounts
    {{sqlite}} FOREIGN KEY (ledger_account_id) REFERENCES wallet_ledger_accounts (id),
    UNIQUE (transaction_id, ledger_account_id)
);
CREATE INDEX wallet_postings_account ON wallet_postings (ledger_account_id, id);

-- Credits that operators and promotions gave, and repayments of debts: why.
CREATE TABLE wallet_adjustments (
    id         {{id}},
    account_id BIGINT NOT NULL, -- the customer's account
    amount     BIGINT NOT NULL, -- in US cents
    reason     TEXT   NOT NULL, -- why it was given
    actor      TEXT   NOT NULL, -- who gave it
    created_at BIGINT NOT NULL  -- when it was given
);

-- Payments into the wallet (resources, section 5). What is paid is amount + fee.
CREATE TABLE wallet_topups (
    id                {{id}},
    account_id        BIGINT    NOT NULL,                    -- the customer's account
    gateway           TEXT      NOT NULL,                    -- the gateway that takes the money
    amount            BIGINT    NOT NULL CHECK (amount > 0), -- what is credited, in US cents
    fee               BIGINT    NOT NULL CHECK (fee >= 0),   -- the fee that is paid in addition, in US cents
    -- pending: nobody has begun to pay; processing: the gateway has it; succeeded: the money is in the wallet
    status            TEXT      NOT NULL CHECK (status IN ('pending', 'processing', 'succeeded', 'failed',
        'cancelled', 'expired', 'refunded', 'charged_back')),
    token_hash        {{bytes}} NOT NULL UNIQUE,             -- hash of the token that opens the payment page
    token_sealed      {{bytes}} NOT NULL, -- the token, encrypted, to give its owner the address again
    language          TEXT      NOT NULL,                    -- language of the payment page
    return_url        TEXT      NOT NULL DEFAULT '',         -- where the payer goes afterwards; empty for our own page
    redirect_url      TEXT      NOT NULL DEFAULT '',         -- where the gateway takes the money, when not on our page
    gateway_reference TEXT, -- the gateway's name for its session; NULL before it has begun
    gateway_payment   TEXT,                                  -- the gateway's name for the payment; NULL until it tells
    failure_key       TEXT      NOT NULL DEFAULT '',         -- why it failed; empty when it did not
    -- what the gateway gave back or was charged back for, in US cents
    taken_back        BIGINT    NOT NULL DEFAULT 0 CHECK (taken_back BETWEEN 0 AND amount + fee),
    automatic         BOOLEAN   NOT NULL DEFAULT FALSE,      -- taken from a kept means of payment, without the customer
    method            TEXT      NOT NULL DEFAULT '',         -- the gateway's name for that means of payment
    save_method       BOOLEAN   NOT NULL DEFAULT FALSE, -- whether the customer asked that the means of payment be kept
    created_at        BIGINT    NOT NULL,                    -- when it was asked for
    expires_at        BIGINT    NOT NULL,                    -- when it can no longer be paid
    completed_at      BIGINT,                                -- when it came to an end; NULL while it is open
    UNIQUE (gateway, gateway_reference),
    UNIQUE (gateway, gateway_payment),
    CONSTRAINT wallet_topups_taken_back CHECK (taken_back = 0 OR status IN ('succeeded', 'refunded', 'charged_back')),
    CONSTRAINT wallet_topups_completed CHECK ((status IN ('pending', 'processing')) = (completed_at IS NULL))
);
CREATE INDEX wallet_topups_account ON wallet_topups (account_id, id);
CREATE INDEX wallet_topups_unpaid ON wallet_topups (expires_at) WHERE status IN ('pending', 'processing');
CREATE INDEX wallet_topups_automatic ON wallet_topups (account_id, created_at) WHERE automatic;

-- What customers have chosen for their wallets.
CREATE TABLE wallet_settings (
    account_id            BIGINT  PRIMARY KEY,         -- the customer's account
    -- the owner is notified when the balance is below it, in US cents; NULL: never
    low_balance_threshold BIGINT  CHECK (low_balance_threshold > 0),
    low                   BOOLEAN NOT NULL, -- whether the balance is below the threshold and the owner was notified
    auto_enabled          BOOLEAN NOT NULL,            -- whether the wallet is topped up automatically
    auto_gateway          TEXT    NOT NULL DEFAULT '', -- the gateway whose kept means of payment is charged
    auto_amount           BIGINT  NOT NULL DEFAULT 0,  -- how much is paid in each time, in US cents
    auto_threshold        BIGINT  NOT NULL DEFAULT 0,  -- a balance below it makes a top-up due, in US cents
    auto_max_per_day      BIGINT  NOT NULL DEFAULT 0,  -- the most that is paid in within a day, in US cents
    auto_language         TEXT    NOT NULL DEFAULT '', -- language of the top-ups that are made
    -- armed: waits for the balance to fall below the threshold; due: it has; acted: a top-up was made, until the
    -- balance is above again
    auto_state            TEXT    NOT NULL CHECK (auto_state IN ('armed', 'due', 'acted')),
    CONSTRAINT wallet_settings_auto CHECK (NOT auto_enabled OR (auto_gateway <> '' AND auto_threshold > 0 AND
        auto_amount >= auto_threshold AND auto_max_per_day >= auto_amount))
);
CREATE INDEX wallet_settings_due ON wallet_settings (account_id) WHERE auto_state = 'due';

-- Means of payment that gateways keep for customers.
CREATE TABLE wallet_methods (
    account_id BIGINT NOT NULL, -- the customer's account
    gateway    TEXT   NOT NULL, -- the gateway that keeps it
    reference  TEXT   NOT NULL, -- the gateway's name for it
    label      TEXT   NOT NULL, -- what its owner sees it as, such as the end of a card's number
    created_at BIGINT NOT NULL, -- when it was kept
    PRIMARY KEY (account_id, gateway)
);

-- The accounts of resellers' sandboxes. Their money is play money: the company's side of it stands in ledger accounts
-- of its own, whose names begin with sandbox:.
CREATE TABLE wallet_sandboxes (
    account_id BIGINT PRIMARY KEY -- the sandbox's account
);
