-- +goose Up

-- The tag that a reseller had given when an order was made, on the order and on the money that moved for it.
ALTER TABLE orders ADD COLUMN client_ref TEXT;
CREATE INDEX orders_account_client ON orders (account_id, client_ref, id);
ALTER TABLE wallet_transactions ADD COLUMN client_ref TEXT;
CREATE INDEX wallet_transactions_client ON wallet_transactions (account_id, client_ref, id) WHERE type <> 'capture';

UPDATE orders SET client_ref = (SELECT MAX(s.client_ref) FROM services s JOIN orders_items i ON i.service_id = s.id WHERE i.order_id = orders.id);
UPDATE wallet_transactions SET client_ref = (SELECT o.client_ref FROM orders o WHERE o.id = reference_id) WHERE reference_type = 'order';
