/**
 * Floods through the public form: many spellings of one mailbox, many addresses through one form, and bots. The limits
 * are small here, and a proof of work is required.
 */
import { createHash } from 'node:crypto'
import { assert } from 'chai'
import { sql } from '#src/stores/sql.ts'
import { startApi, textOf, type TestApi } from '#test/support/api.ts'
import { until } from '#test/support/until.ts'
import { FORM, json, signupForm, type FormResponse } from './subscribe-form.test-data.ts'

const BITS = 6

function solve(challenge: string, bits = BITS): string {
  for (let n = 0; ; n++)
    if (Math.clz32(createHash('sha256').update(`${challenge}:${n}`).digest().readUInt32BE(0)) >= bits) return String(n)
}

describe('a flood through the public signup form', () => {
  let api: TestApi
  before(async () => {
    api = await startApi({
      TRUST_PROXY: 'true',
      SUBSCRIBE_CHALLENGE_BITS: String(BITS),
      SUBSCRIBE_GROWTH_MINIMUM: '12',
      SUBSCRIBES_PER_AUDIENCE: '30',
      SUBSCRIBES_PER_WORKSPACE: '70',
    })
  })
  after(() => api.stop())
  beforeEach(() => api.db.query('DELETE FROM subscribe_days'))
  const { audience, ask, postJson, postForm } = signupForm(() => api)

  async function challengeFor(token: string): Promise<{ challenge: string; solution: string }> {
    const data = json(await ask(`/s/${token}/challenge`))['data']
    const challenge = textOf(data?.['challenge'])
    assert.strictEqual(Number(data?.['bits']), BITS)
    return { challenge, solution: solve(challenge) }
  }
  const submit = async (token: string, email: string): Promise<FormResponse> =>
    postJson(token, { email, ...(await challengeFor(token)) })
  /** Statuses of submissions of different people. */
  async function submitMany(token: string, count: number, name = 'person'): Promise<number[]> {
    const statuses: number[] = []
    for (let i = 0; i < count; i++) statuses.push((await submit(token, `${name}${i}@people.example`)).status)
    return statuses
  }
  async function mailsTo(pattern: string): Promise<number> {
    const { rows } = await api.db.query<{ n: number }>('SELECT count(*) AS n FROM recipients WHERE address LIKE $1', [
      pattern,
    ])
    return rows[0]?.n ?? 0
  }
  const storedDays = (audienceId: string): Promise<unknown> =>
    api.db.query(
      sql`
        INSERT INTO subscribe_days (subject, day, submissions)
        SELECT $1, (now() AT TIME ZONE 'UTC')::date - n, 2
        FROM generate_series(1, 14) n
      `,
      [audienceId],
    )

  it('of one mailbox in many spellings: one mail for each audience, and five a day over all of them', async () => {
    const spellings = Array.from(
      { length: 9 },
      (_, i) => `${'victimname'.slice(0, i + 1)}.${'victimname'.slice(i + 1)}`,
    )
    const forms = await Promise.all(Array.from({ length: 7 }, () => audience({ isDoubleOptIn: true })))
    const answers: FormResponse[] = []
    for (const [i, spelling] of spellings.entries()) {
      const { subscribeToken = '' } = forms[i < 2 ? 0 : i - 2] ?? {}
      const email = i % 2 === 0 ? `${spelling}@gmail.com` : `${spelling.toUpperCase()}+${i}@googlemail.com`
      answers.push(await submit(subscribeToken, email.replace('.@', '@')))
    }
    assert.strictEqual(
      new Set(answers.map(({ status, text }) => `${status} ${text}`)).size,
      1,
      'all are answered alike',
    )
    assert.strictEqual(answers[0]?.status, 200)
    assert.strictEqual(await mailsTo('v%@g%mail.com'), 5)
  })

  it('stops a form that grows far beyond its last two weeks, until tomorrow, with a notice', async () => {
    const [flooded, other] = [await audience({ isDoubleOptIn: true }), await audience()]
    const statuses = await submitMany(flooded.subscribeToken, 15, 'stranger')
    assert.deepEqual(statuses, [...Array<number>(12).fill(200), 429, 429, 429])
    assert.strictEqual(await mailsTo('stranger%'), 12)
    const refused = await submit(flooded.subscribeToken, 'late@people.example')
    assert.match(textOf(json(refused)['message']), /no more subscriptions today/)
    const wait = Number(refused.headers.get('retry-after'))
    assert.ok(wait >= 1 && wait <= 86_400, String(wait))
    assert.strictEqual((await submit(other.subscribeToken, 'other@people.example')).status, 200, 'other forms go on')
    await until(async () => {
      const { rows } = await api.db.query<{ subject: string; text: string }>(
        `SELECT subject, text FROM operator_notices WHERE kind = 'subscribe-stopped'`,
      )
      return rows.some(({ subject, text }) => subject === `audience ${flooded.id}` && /12 submissions today/.test(text))
    })
  })
  it('a form with a history may grow by its factor, up to the cap of an audience', async () => {
    const { id, subscribeToken } = await audience()
    await storedDays(id)
    const statuses = await submitMany(subscribeToken, 22, 'fan')
    assert.deepEqual([statuses.indexOf(429), statuses.filter((status) => status === 200).length], [20, 20])
  })
  it('many forms of one workspace together have a cap, and what it refuses is not counted for the form', async () => {
    const tenant = await api.addTenant()
    const form = await audience({ workspaceId: tenant.workspaceId })
    await api.db.query(`INSERT INTO subscribe_days VALUES ($1, (now() AT TIME ZONE 'UTC')::date, 69)`, [
      tenant.workspaceId,
    ])
    assert.deepEqual(await submitMany(form.subscribeToken, 3, 'crowd'), [200, 429, 429])
    const { rows } = await api.db.query<{ n: number }>(
      'SELECT submissions AS n FROM subscribe_days WHERE subject = $1',
      [form.id],
    )
    assert.strictEqual(rows[0]?.n, 1)
  })
  it('submissions at the same time do not exceed a limit', async () => {
    const { subscribeToken } = await audience()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => submit(subscribeToken, `race${i}@people.example`)),
    )
    assert.strictEqual(answers.filter(({ status }) => status === 200).length, 12)
  })

  it('needs a proof of work for each submission: of this form, once', async () => {
    const [{ subscribeToken }, other] = [await audience(), await audience()]
    const email = 'worker@people.example'
    const solved = await challengeFor(subscribeToken)
    const [head = '', middle = '', tail = ''] = solved.challenge.split('.')
    const early = `${(Number.parseInt(head, 36) + 1).toString(36)}.${middle}.${tail}`
    for (const wrong of [
      {},
      { challenge: solved.challenge },
      { ...solved, solution: 'x' },
      { challenge: early, solution: solve(early) },
      { challenge: 'x', solution: solve('x') },
      await challengeFor(other.subscribeToken),
    ])
      assert.strictEqual((await postJson(subscribeToken, { email, ...wrong })).status, 400, JSON.stringify(wrong))
    assert.strictEqual((await postJson(subscribeToken, { email, ...solved })).status, 200)
    assert.strictEqual((await postJson(subscribeToken, { email, ...solved })).status, 400)
  })
  it('the page brings a challenge and a script that is allowed by its hash, also after an error', async () => {
    const { subscribeToken } = await audience()
    const pages = [await ask(`/s/${subscribeToken}`), await postForm(subscribeToken, { email: 'nobody' })]
    for (const { text, headers } of pages) {
      const script = /<script>([^]*)<\/script>/.exec(text)?.[1] ?? ''
      const hash = createHash('sha256').update(script).digest('base64')
      assert.ok(script.length > 100)
      assert.ok(headers.get('content-security-policy')?.includes(`script-src 'sha256-${hash}'`))
      assert.match(text, /<noscript>/)
    }
    const challenge = /name="challenge" value="([^"]+)"/.exec(pages[1]?.text ?? '')?.[1] ?? ''
    const body = new URLSearchParams({ email: 'page@people.example', challenge, solution: solve(challenge) }).toString()
    const sent = await ask(`/s/${subscribeToken}`, { method: 'POST', body, headers: { 'content-type': FORM } })
    assert.strictEqual(sent.status, 200)
  })
})
