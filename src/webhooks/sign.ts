/**
 * Signatures of one delivery: Standard Webhooks 1.0.0 (webhook-id, webhook-timestamp, webhook-signature: HMAC-SHA256
 * over id.timestamp.body), and `X-Webhook-Signature: sha256=<hex>` over the body alone, for simple receivers. The
 * simple signature has no timestamp and one secret only: a replayed body passes, and after a rotation it uses the new
 * secret at once.
 */
import { createHmac } from 'node:crypto'
import type { WebhookSigningKey } from './secret.ts'

export interface SignedContent {
  /** `evt_…`, the same in every attempt. */
  readonly id: string
  readonly timestampSeconds: number
  /** The request body. */
  readonly body: string
}

/** @param keys all valid keys, the newest first; at least one */
export function signatureHeaders(
  keys: readonly WebhookSigningKey[],
  { id, timestampSeconds, body }: SignedContent,
): Record<string, string> {
  const [newest] = keys
  if (newest === undefined) throw new Error('cannot sign a webhook without a key')
  const content = `${id}.${timestampSeconds}.${body}`
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': keys
      .map((key) => `v1,${createHmac('sha256', key.standard).update(content).digest('base64')}`)
      .join(' '),
    'X-Webhook-Signature': `sha256=${createHmac('sha256', newest.simple).update(body).digest('hex')}`,
  }
}
