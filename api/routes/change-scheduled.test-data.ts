/** Scheduled messages for the tests of their changes: how one is made, changed and read. */
import { assert } from 'chai'
import { messageIdOf } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { textOf, type TestApi, type TestResponse } from '#test/support/api.ts'

export const DAY_MS = 24 * 3600_000
export const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString()
export const FILE = { filename: 'b.txt', content: Buffer.from('new file').toString('base64') }
export type Row = Record<string, unknown>

/** The limits of the system under test. */
export const CHANGE_LIMITS = { MAX_RECIPIENTS: '6', MAX_MESSAGE_BYTES: '3000' }

type Sender = Pick<TestApi, 'regular' | 'domain'>

export interface ScheduledScene {
  readonly change: (id: string, body: object, key?: string) => Promise<TestResponse>
  /** Changes it, which must succeed. */
  readonly changed: (id: string, body: object) => Promise<void>
  /** Schedules a message with a value in every field; returns its id. */
  readonly plan: (fields?: object, tenant?: Sender) => Promise<string>
  /** All of a message, except when its rows were touched. */
  readonly stored: (id: string) => Promise<Row>
  readonly messageOf: (id: string) => Promise<Row>
  /** `kind address state` of each recipient. */
  readonly recipientsOf: (id: string) => Promise<string[]>
  readonly eventsOf: (id: string) => Promise<unknown>
}

export function scheduledScene(start: () => TestApi): ScheduledScene {
  const change = (id: string, body: object, key = start().regular): Promise<TestResponse> =>
    start().call('PATCH', `/send-email/schedule/${id}`, { key, body })
  const changed = async (id: string, body: object): Promise<void> => {
    const answer = await change(id, body)
    assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
  }
  const plan = async (fields: object = {}, tenant: Sender = start()): Promise<string> => {
    const { status, body } = await start().call('POST', '/send-email/schedule', {
      key: tenant.regular,
      body: {
        from: `Me <me@${tenant.domain}>`,
        to: ['Ann <a@b.example>'],
        cc: ['c@b.example'],
        bcc: ['d@b.example'],
        subject: 's',
        text: 'x',
        tags: ['old'],
        metadata: { old: 1 },
        headers: { 'X-Old': '1' },
        reply_to: 'r@b.example',
        attachments: [{ filename: 'a.txt', content: 'YWJj' }],
        expires_at: inMs(20 * DAY_MS),
        scheduled_at: inMs(DAY_MS),
        ...fields,
      },
    })
    assert.strictEqual(status, 200, JSON.stringify(body))
    return textOf(body['email_id'])
  }

  async function stored(id: string): Promise<Row> {
    const { rows } = await start().db.query<Row>(
      sql`
        SELECT to_jsonb(m) - 'raw' || jsonb_build_object('html', b.html, 'body_text', b.body_text) AS message,
          (
            SELECT jsonb_agg(to_jsonb(r) - 'updated_at' ORDER BY r.n)
            FROM recipients r
            WHERE r.message_id = m.id
          ) AS recipients,
          (
            SELECT jsonb_agg(jsonb_build_array(a.filename, encode(a.content, 'escape')) ORDER BY a.n)
            FROM attachments a
            WHERE a.message_id = m.id
          ) AS attachments,
          (SELECT array_agg(t.tag ORDER BY t.tag) FROM message_tags t WHERE t.message_id = m.id) AS tags,
          (
            SELECT jsonb_agg(jsonb_build_array(e.sequence, e.type, e.recipient) ORDER BY e.sequence)
            FROM events e
            WHERE e.message_id = m.id
          ) AS events,
          (SELECT sum(u.used)::int FROM usage u WHERE u.workspace_id = m.workspace_id) AS used
        FROM messages m
        JOIN message_bodies b ON b.message_id = m.id
        WHERE m.id = $1
      `,
      [messageIdOf(id)],
    )
    return rows[0] ?? {}
  }
  const messageOf = async (id: string): Promise<Row> => (await stored(id))['message'] as Row
  const recipientsOf = async (id: string): Promise<string[]> =>
    ((await stored(id))['recipients'] as Row[]).map(({ kind, address, state }) => [kind, address, state].join(' '))
  const eventsOf = async (id: string): Promise<unknown> => (await stored(id))['events']
  return { change, changed, plan, stored, messageOf, recipientsOf, eventsOf }
}
