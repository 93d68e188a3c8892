/**
 * The keys that sign the calls of webhook steps. Each workspace has one secret for all its automations, made when the
 * first call needs it, and shown when its owner replaces it; the previous one also signs for 24 hours. If the URL of a
 * call is a registered webhook endpoint, the secret of that endpoint signs as well, and first.
 */
import type { Context } from '#src/context.ts'
import { recordChange } from '#src/stores/audit.ts'
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import {
  encryptSecret,
  newSecret,
  ROTATION_HOURS,
  type SecretDecryptor,
  type WebhookSigningKey,
} from '#src/webhooks/secret.ts'

export interface RotatedSecret {
  /** Shown only once. */
  readonly secret: string
  /** Until when the previous secret also signs; null if there was none. */
  readonly previousUntil: Date | null
}

const REPLACE = sql`
  INSERT INTO automation_webhook_secrets AS s (workspace_id, secret)
  VALUES ($1, $2)
  ON CONFLICT (workspace_id) DO UPDATE
  SET previous_secret = s.secret,
    previous_until = now() + interval '${ROTATION_HOURS} hours',
    secret = excluded.secret,
    updated_at = now()
  RETURNING previous_until AS "previousUntil"
`

/** Replaces the secret of a workspace; the previous one also signs for 24 hours. */
export async function rotateCallSecret(
  { db, encryption }: Pick<Context, 'db' | 'encryption'>,
  workspaceId: string,
): Promise<RotatedSecret> {
  const secret = newSecret()
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<{ previousUntil: Date | null }>(REPLACE, [
      workspaceId,
      encryptSecret(encryption, secret),
    ])
    const previousUntil = rows[0]?.previousUntil ?? null
    await recordChange(tx, {
      kind: 'automation-webhook-secret',
      object: workspaceId,
      workspaceId,
      change: previousUntil === null ? 'create' : 'update',
      before: null,
      after: { previous_until: previousUntil },
    })
    return { secret, previousUntil }
  })
}

interface SignedCall {
  readonly id: string
  readonly workspaceId: string
  readonly url: string
}

export interface SigningDeps {
  readonly db: Queryable
  readonly encryption: Context['encryption']
  readonly decrypt: SecretDecryptor
}

const ENCRYPTED_SECRETS = prepared(
  'automation-calls-secrets',
  sql`
    SELECT w.workspace_id AS "workspaceId", w.url,
      array_remove(
        ARRAY[
          e.secret,
          CASE WHEN e.previous_until > now() THEN e.previous_secret END,
          s.secret,
          CASE WHEN s.previous_until > now() THEN s.previous_secret END
        ],
        NULL
      ) AS secrets,
      s.secret IS NULL AS "isMissing"
    FROM unnest($1::uuid[], $2::text[]) AS w (workspace_id, url)
    LEFT JOIN automation_webhook_secrets s ON s.workspace_id = w.workspace_id
    LEFT JOIN LATERAL (
      SELECT secret, previous_secret, previous_until
      FROM webhook_endpoints
      WHERE workspace_id = w.workspace_id AND url = w.url AND is_active
      ORDER BY id
      LIMIT 1
    ) e ON true
  `,
)
const ADD_SECRETS = prepared(
  'automation-calls-add-secrets',
  sql`
    INSERT INTO automation_webhook_secrets (workspace_id, secret)
    SELECT w.id, i.secret
    FROM unnest($1::uuid[], $2::bytea[]) AS i (workspace_id, secret)
    JOIN workspaces w ON w.id = i.workspace_id
    ORDER BY w.id
    ON CONFLICT DO NOTHING
  `,
)

interface SecretRow {
  readonly workspaceId: string
  readonly url: string
  readonly secrets: readonly Buffer[]
  readonly isMissing: boolean
}

/** The keys of each call by its id, the one of `X-Webhook-Signature` first; null if they cannot be decrypted. */
export async function loadSigningKeys(
  deps: SigningDeps,
  calls: readonly SignedCall[],
): Promise<ReadonlyMap<string, readonly WebhookSigningKey[] | null>> {
  const targets = [...new Map(calls.map((call) => [targetOf(call), call])).values()]
  const found = await readSecrets(deps, targets)
  const keys = new Map(found.map((row) => [targetOf(row), keysOf(row, deps.decrypt)]))
  return new Map(calls.map((call) => [call.id, keys.get(targetOf(call)) ?? null]))
}

const targetOf = ({ workspaceId, url }: Pick<SignedCall, 'workspaceId' | 'url'>): string => `${workspaceId} ${url}`

async function readSecrets(
  { db, encryption }: SigningDeps,
  targets: readonly Pick<SignedCall, 'workspaceId' | 'url'>[],
): Promise<SecretRow[]> {
  const read = async (): Promise<SecretRow[]> =>
    (await db.query<SecretRow>(ENCRYPTED_SECRETS, columnsOf(targets, [(one) => one.workspaceId, (one) => one.url])))
      .rows
  const found = await read()
  const missing = [...new Set(found.filter(({ isMissing }) => isMissing).map(({ workspaceId }) => workspaceId))]
  if (missing.length === 0) return found
  await db.query(ADD_SECRETS, [missing, missing.map(() => encryptSecret(encryption, newSecret()))])
  return read()
}

function keysOf({ secrets }: SecretRow, decrypt: SecretDecryptor): readonly WebhookSigningKey[] | null {
  try {
    return secrets.length === 0 ? null : secrets.map(decrypt)
  } catch {
    return null
  }
}
