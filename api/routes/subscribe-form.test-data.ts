/** Requests to the public signup form, each from a network of its own, and the rows that they store. */
import { createAudience } from '#src/contacts/audiences.ts'
import { sql } from '#src/stores/sql.ts'
import { startApi, type Json, type TestApi } from '#test/support/api.ts'

export const FORM = 'application/x-www-form-urlencoded'

export interface FormResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

interface Member {
  email: string
  is_subscribed: boolean
  first_name: string | null
  last_name: string | null
}

type Headed = Readonly<Record<string, string>>

export interface SignupForm {
  readonly audience: (order?: {
    readonly name?: string
    readonly isDoubleOptIn?: boolean
    readonly workspaceId?: string
  }) => ReturnType<typeof createAudience>
  readonly ask: (path: string, init?: RequestInit) => Promise<FormResponse>
  readonly postForm: (token: string, fields: Record<string, string>, headers?: Headed) => Promise<FormResponse>
  readonly postJson: (token: string, body: unknown, headers?: Headed) => Promise<FormResponse>
  /** The contacts of an audience, subscribed or not. */
  readonly members: (audienceId: string) => Promise<Member[]>
  readonly suppress: (address: string) => Promise<unknown>
  /** Counts the events `contact.subscribed`. */
  readonly events: () => Promise<number>
}

export const startFormApi = (): Promise<TestApi> =>
  startApi({ TRUST_PROXY: 'true', SUBSCRIBE_BASE_URL: 'http://join.example' })

export const json = (response: FormResponse): Json => JSON.parse(response.text) as Json

/** The form of an API that a hook starts later. */
export function signupForm(api: () => TestApi): SignupForm {
  let host = 0
  /** A different network each time, so that tests do not share rate limits. */
  const newNetwork = (): string => `198.51.${Math.floor(++host / 250)}.${host % 250}`
  async function ask(path: string, init: RequestInit = {}): Promise<FormResponse> {
    const headers = { 'x-forwarded-for': newNetwork(), ...(init.headers as Record<string, string>) }
    const response = await fetch(api().url + path, { ...init, headers })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  const post = (token: string, body: string, headers: Headed): Promise<FormResponse> =>
    ask(`/s/${token}`, { method: 'POST', body, headers })
  return {
    audience: (order = {}) =>
      createAudience(
        api().db,
        order.workspaceId ?? api().workspaceId,
        { name: order.name ?? 'News', description: null, isDoubleOptIn: order.isDoubleOptIn ?? false },
        new Date(),
      ),
    ask,
    postForm: (token, fields, headers = {}) =>
      post(token, new URLSearchParams(fields).toString(), { 'content-type': FORM, ...headers }),
    postJson: (token, body, headers = {}) =>
      post(token, JSON.stringify(body), { 'content-type': 'application/json', ...headers }),
    members: (audienceId) => members(api(), audienceId),
    suppress: (address) =>
      api().db.query(`INSERT INTO suppressions (workspace_id, address, cause) VALUES ($1, $2, 'test')`, [
        api().workspaceId,
        address,
      ]),
    events: async () => {
      const { rows } = await api().db.query<{ n: number }>(
        `SELECT count(*) AS n FROM events WHERE type = 'contact.subscribed'`,
      )
      return rows[0]?.n ?? 0
    },
  }
}

async function members({ db }: TestApi, audienceId: string): Promise<Member[]> {
  const { rows } = await db.query<Member>(
    sql`
      SELECT c.email, m.is_subscribed, c.first_name, c.last_name
      FROM memberships m
      JOIN contacts c ON c.id = m.contact_id
      WHERE m.audience_id = $1
      ORDER BY c.email
    `,
    [audienceId],
  )
  return rows
}
