/**
 * Signatures of one delivery: Standard Webhooks 1.0.0 (webhook-id, webhook-timestamp, webhook-signature; HMAC-SHA256 over
 * id.timestamp.body), and beside it `X-Webhook-Signature: sha256=<hex>` over the body alone, for receivers that want three lines of code.
 * The simple one has no time in it and room for one secret only: a replayed body passes, and after a rotation it is the new secret's at
 * once.
 */
import { createHmac } from 'node:crypto'
import type { WebhookSigningKey } from './secret.ts'

export interface SignedContent {
  /** `evt_…`, the same at every try. */
  readonly id: string
  readonly timestampSeconds: number
  /** The bytes that go out, as text. */
  readonly body: string
}

/** @param keys all that are valid now, the newest first; at least one. */
export function signatureHeaders(
  keys: readonly WebhookSigningKey[],
  { id, timestampSeconds, body }: SignedContent,
): Record<string, string> {
  const [newest] = keys
  if (newest === undefined) throw new Error('a webhook is never sent without a signature')
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
