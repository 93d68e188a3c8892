/**
 * Campaigns for scenarios and fault tests: an audience of numbered contacts that is written to the database directly,
 * and a client that creates, starts and reads campaigns through the API, as a customer does.
 */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { textOf, type Json, type TestResponse } from './api.ts'
import type { System } from './system.ts'
import { until } from './until.ts'

export const BODY = '<p>Hello {{firstName}}, <a href="{{unsubscribeUrl}}">leave</a></p>'
type Owner = Pick<System, 'db' | 'workspaceId'>
type Client = Pick<System, 'call' | 'admin'>

/** An empty audience; its id. */
export async function addAudience({ db, workspaceId }: Owner): Promise<string> {
  const id = newId()
  await db.query(`INSERT INTO audiences (id, workspace_id, name, subscribe_token) VALUES ($1, $2, 'a', $3)`, [
    id,
    workspaceId,
    newId(),
  ])
  return id
}

/** `count` members called `<prefix>1@<domain>` and so on, scored; who is a contact already becomes a member. */
export async function addMembers(
  { db, workspaceId }: Owner,
  audienceId: string,
  { count, domain, prefix = 'c' }: { count: number; domain: string; prefix?: string },
): Promise<void> {
  await db.query(
    sql`
      WITH added AS (
        INSERT INTO contacts (id, workspace_id, email, first_name, score, verified_at)
        SELECT new_enrolment_id(), $1, $2 || i || '@' || $3, 'N' || i, 1, now()
        FROM generate_series(1, $4::int) i
        ON CONFLICT (workspace_id, email)
        DO UPDATE SET updated_at = now()
        RETURNING id, email, first_name
      )
      INSERT INTO memberships (audience_id, contact_id, workspace_id, email, first_key, score)
      SELECT $5, id, $1, email, name_key(first_name), 1
      FROM added
    `,
    [workspaceId, prefix, domain, count, audienceId],
  )
}

export function createCampaignClient(client: Client) {
  const call = (method: string, path: string, body?: object): Promise<TestResponse> =>
    client.call(method, `/public/campaigns${path}`, { key: client.admin, ...(body === undefined ? {} : { body }) })
  const dataOf = ({ status, body }: TestResponse): Json => {
    assert.ok(status < 300, `${status} ${JSON.stringify(body)}`)
    return body['data'] ?? {}
  }
  const show = async (id: string): Promise<Json> => dataOf(await call('GET', `/${id}`))
  return {
    call,
    show,
    create: async (fields: object): Promise<string> =>
      textOf(
        dataOf(
          await call('POST', '', {
            name: 'C',
            subject: 'Hello {{firstName}}',
            html: BODY,
            from: 'Shop <shop@sender.example>',
            ...fields,
          }),
        )['id'],
      ),
    move: async (id: string, move: string, body: object = {}): Promise<Json> =>
      dataOf(await call('POST', `/${id}/${move}`, body)),
    metrics: async (id: string): Promise<Readonly<Record<string, number>>> =>
      (await show(id))['metrics'] as unknown as Record<string, number>,
    settle: async (id: string, status = 'COMPLETED', timeoutMs = 30_000): Promise<Json> => {
      let campaign = await show(id)
      await until(
        async () => {
          campaign = await show(id)
          return textOf(campaign['status']) === status
        },
        () => `it is ${JSON.stringify(campaign)}`,
        timeoutMs,
      )
      return campaign
    },
  }
}
