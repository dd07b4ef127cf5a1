-- +goose Up

-- The accounts of the double-entry ledger. A customer (owner_id) has three:
-- customer is what can be spent, held what is set aside for orders in
-- processing, debt (never above zero) what a charge-back found already spent.
-- The company's (owner_id 0) are named by what they count: clearing per
-- gateway, fees, revenue, adjustments; they bear no running balance, so that no
-- row is common to all customers' transactions.
CREATE TABLE wallet_ledger_accounts (
    id       {{id}},
    kind     TEXT   NOT NULL CHECK (kind IN ('customer', 'held', 'debt', 'clearing', 'fees', 'revenue', 'adjustments')),
    owner_id BIGINT NOT NULL,
    name     TEXT   NOT NULL DEFAULT '',
    balance  BIGINT,
    UNIQUE (owner_id, kind, name),
    CONSTRAINT wallet_balance_kept CHECK ((owner_id <> 0) = (balance IS NOT NULL)),
    CONSTRAINT wallet_owner CHECK ((kind IN ('customer', 'held', 'debt')) = (owner_id <> 0)),
    CONSTRAINT wallet_balance_not_negative CHECK (kind NOT IN ('customer', 'held') OR balance >= 0),
    CONSTRAINT wallet_debt_not_positive CHECK (kind <> 'debt' OR balance <= 0)
);

-- Movements of money; appended, never changed. account_id is the customer's;
-- amount and balance_after are the movement as seen from what can be spent.
-- part tells repeated movements of one reference apart (partial refunds).
CREATE TABLE wallet_transactions (
    id             {{id}},
    account_id     BIGINT NOT NULL,
    type           TEXT   NOT NULL CHECK (type IN ('topup', 'charge', 'capture', 'refund', 'adjustment', 'bonus',
                       'sla_credit', 'referral_reward', 'chargeback', 'reversal', 'repayment')),
    amount         BIGINT NOT NULL,
    balance_after  BIGINT NOT NULL CHECK (balance_after >= 0),
    description    TEXT   NOT NULL,
    reference_type TEXT   NOT NULL,
    reference_id   BIGINT NOT NULL,
    part           BIGINT NOT NULL DEFAULT 0,
    created_at     BIGINT NOT NULL,
    UNIQUE (reference_type, reference_id, type, part)
);
CREATE INDEX wallet_transactions_history ON wallet_transactions (account_id, id) WHERE type <> 'capture';

-- The legs of a movement; those of one transaction sum to zero.
CREATE TABLE wallet_postings (
    id                {{id}},
    transaction_id    BIGINT NOT NULL REFERENCES wallet_transactions (id),
    ledger_account_id BIGINT NOT NULL REFERENCES wallet_ledger_accounts (id),
    amount            BIGINT NOT NULL CHECK (amount <> 0),
    balance_after     BIGINT,
    UNIQUE (transaction_id, ledger_account_id)
);
CREATE INDEX wallet_postings_account ON wallet_postings (ledger_account_id, id);

-- Credits that operators and promotions gave, and repayments of debts: why.
CREATE TABLE wallet_adjustments (
    id         {{id}},
    account_id BIGINT NOT NULL,
    amount     BIGINT NOT NULL,
    reason     TEXT   NOT NULL,
    actor      TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);

-- Payments into the wallet (resources, section 5). amount is credited, amount +
-- fee is paid. token opens the payment page: its hash finds the row, the sealed
-- form gives the address back to its owner.
CREATE TABLE wallet_topups (
    id                {{id}},
    account_id        BIGINT NOT NULL,
    gateway           TEXT   NOT NULL,
    amount            BIGINT NOT NULL CHECK (amount > 0),
    fee               BIGINT NOT NULL CHECK (fee >= 0),
    status            TEXT   NOT NULL CHECK (status IN ('pending', 'processing', 'succeeded', 'failed', 'cancelled',
                          'expired', 'refunded', 'charged_back')),
    token_hash        {{bytes}} NOT NULL UNIQUE,
    token_sealed      {{bytes}} NOT NULL,
    language          TEXT   NOT NULL,
    return_url        TEXT   NOT NULL DEFAULT '',
    redirect_url      TEXT   NOT NULL DEFAULT '',
    gateway_reference TEXT,
    gateway_payment   TEXT,
    failure_key       TEXT   NOT NULL DEFAULT '',
    taken_back        BIGINT NOT NULL DEFAULT 0 CHECK (taken_back BETWEEN 0 AND amount + fee),
    created_at        BIGINT NOT NULL,
    expires_at        BIGINT NOT NULL,
    completed_at      BIGINT,
    UNIQUE (gateway, gateway_reference),
    UNIQUE (gateway, gateway_payment),
    CONSTRAINT wallet_topups_taken_back CHECK (taken_back = 0 OR status IN ('succeeded', 'refunded', 'charged_back')),
    CONSTRAINT wallet_topups_completed CHECK ((status IN ('pending', 'processing')) = (completed_at IS NULL))
);
CREATE INDEX wallet_topups_account ON wallet_topups (account_id, id);
CREATE INDEX wallet_topups_unpaid ON wallet_topups (expires_at) WHERE status IN ('pending', 'processing');
