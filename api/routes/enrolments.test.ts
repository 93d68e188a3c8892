/** Enrolments over HTTP: by events, and by hand. */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { listOf, startApi, type TestResponse, type TestApi } from '#test/support/api.ts'
import { EXIT, automationCalls, errorOf, idOf, pathsOf } from './automations.test-data.ts'

describe('automations', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  const { call, create, update, waiting, track, addContact } = automationCalls(() => api)

  describe('events', () => {
    it('enrol a known contact in every active automation with exactly this event name', async () => {
      await addContact('ann@x.example')
      const [one, two] = [await waiting('bought'), await waiting('bought')]
      await waiting('Bought')
      await waiting('bought', { status: 'draft' })
      const { status, body } = await track('Ann@X.example', 'bought', { properties: { price: 7 } })
      assert.deepEqual([status, body['data']], [200, { enrolled: 2 }])
      for (const id of [one, two]) {
        const { body: found } = await call('GET', `/${id}/subscribers`)
        const [subscriber] = listOf(found['data']?.['subscribers'])
        assert.deepEqual(
          [subscriber?.['email'], subscriber?.['status'], subscriber?.['version']],
          ['ann@x.example', 'active', 1],
        )
        assert.strictEqual((await call('GET', `/${id}`)).body['data']?.['enrolled_count'], 1)
      }
      const { rows } = await api.db.query<{ properties: object; isDue: boolean; hasStep: boolean }>(
        sql`
          SELECT properties, due_at <= now() AS "isDue", step IS NOT NULL AS "hasStep"
          FROM enrolments
          WHERE automation_id = $1
        `,
        [one],
      )
      assert.deepEqual(rows, [{ properties: { price: 7 }, isDue: true, hasStep: true }])
    })
    it('of an unknown address have no effect', async () => {
      await waiting('unknown')
      const { status, body } = await track('nobody@x.example', 'unknown')
      assert.deepEqual([status, body['data']], [200, { enrolled: 0 }])
    })
    it('fifty concurrent events enrol one contact once, and fifty contacts once each', async () => {
      await addContact('fifty@x.example')
      const id = await waiting('fifty')
      const answers = await Promise.all(Array.from({ length: 50 }, () => track('fifty@x.example', 'fifty')))
      assert.strictEqual(
        answers.reduce((sum, { body }) => sum + Number(body['data']?.['enrolled']), 0),
        1,
      )
      await Promise.all(Array.from({ length: 50 }, (_, i) => addContact(`c${i}@x.example`)))
      const others = await Promise.all(Array.from({ length: 50 }, (_, i) => track(`c${i}@x.example`, 'fifty')))
      assert.strictEqual(
        others.reduce((sum, { body }) => sum + Number(body['data']?.['enrolled']), 0),
        50,
      )
      assert.strictEqual((await call('GET', `/get-automation/${id}`)).body['data']?.['enrolled_count'], 51)
    })
    it('accept every alias, and refuse invalid events', async () => {
      await addContact('names@x.example')
      for (const field of ['event_name', 'eventName', 'event', 'name'])
        assert.strictEqual(
          (await call('POST', '/events/track', { email: 'names@x.example', [field]: 'x' })).status,
          200,
          field,
        )
      const wrong: readonly (readonly [body: object, path: string])[] = [
        [{ event_name: 'x' }, 'email'],
        [{ email: 'no', event_name: 'x' }, 'email'],
        [{ email: 'a@b.example' }, 'event_name'],
        [{ email: 'a@b.example', event_name: 'x'.repeat(256) }, 'event_name'],
        [{ email: 'a@b.example', event_name: 'x', properties: [] }, 'properties'],
        [{ email: 'a@b.example', event_name: 'x', properties: { a: 'x'.repeat(10_000) } }, 'properties'],
      ]
      for (const [body, path] of wrong) {
        const answer = await call('POST', '/events/track', body)
        assert.deepEqual(
          [errorOf(answer), pathsOf(answer)],
          [[400, 'VALIDATION_ERROR'], [path]],
          JSON.stringify(answer.body),
        )
      }
    })
    it('a contact that has finished can enrol again', async () => {
      await addContact('again@x.example')
      const id = await waiting('again')
      await track('again@x.example', 'again')
      await api.db.query(`UPDATE enrolments SET state = 'completed' WHERE automation_id = $1`, [id])
      assert.strictEqual((await track('again@x.example', 'again')).body['data']?.['enrolled'], 1)
      const { body } = await call('GET', `/${id}`)
      assert.deepEqual(
        ['enrolled_count', 'completed_count', 'active_count'].map((field) => body['data']?.[field]),
        [2, 1, 1],
      )
    })
    it('an enrolled contact keeps its version', async () => {
      await addContact('version@x.example')
      const id = await waiting('version')
      await track('version@x.example', 'version')
      await update(id, { steps: [{ type: 'delay', days: 1 }] })
      const { body } = await call('GET', `/${id}/subscribers`)
      assert.strictEqual(listOf(body['data']?.['subscribers'])[0]?.['version'], 1)
    })
  })

  describe('by hand', () => {
    const enrol = (id: string, email: string, key?: string): Promise<TestResponse> =>
      call('POST', `/add-automation/${id}/enroll`, { email }, key)
    const unenrol = (id: string, email: string, key?: string): Promise<TestResponse> =>
      call('DELETE', `/delete-automation/${id}/subscribers`, { email }, key)

    it('a contact is enrolled once and removed', async () => {
      await addContact('hand@x.example')
      const id = await waiting('hand')
      const first = await enrol(id, 'hand@x.example')
      assert.deepEqual([first.status, first.body['data']], [200, { enrolled: 1 }])
      const second = await enrol(id, 'HAND@x.example')
      assert.deepEqual([second.status, second.body['data']], [200, { enrolled: 0 }])
      const out = await unenrol(id, 'hand@x.example')
      assert.deepEqual([out.status, out.body['success'], typeof out.body['message']], [200, true, 'string'])
      assert.deepEqual(errorOf(await unenrol(id, 'hand@x.example')), [404, 'NOT_FOUND'])
      const { body } = await call('GET', `/${id}/subscribers?status=exited`)
      assert.deepEqual(
        listOf(body['data']?.['subscribers']).map((one) => [
          one['email'],
          one['reason'],
          one['next_step'],
          one['due_at'],
        ]),
        [['hand@x.example', 'unenrolled', null, null]],
      )
    })
    it('only a known contact, and only while the automation is active', async () => {
      await addContact('only@x.example')
      const id = idOf(await create({ steps: EXIT }))
      assert.deepEqual(errorOf(await enrol(id, 'only@x.example')), [409, 'CONFLICT'])
      await update(id, { status: 'active' })
      assert.deepEqual(errorOf(await enrol(id, 'nobody@x.example')), [404, 'NOT_FOUND'])
      assert.deepEqual(errorOf(await enrol(newId(), 'only@x.example')), [404, 'NOT_FOUND'])
      assert.deepEqual(errorOf(await enrol('x', 'only@x.example')), [404, 'NOT_FOUND'])
      assert.deepEqual(errorOf(await unenrol(id, 'only@x.example')), [404, 'NOT_FOUND'])
    })
    it('one with a date trigger starts at that date', async () => {
      await addContact('later@x.example')
      const id = idOf(
        await create({ trigger: { type: 'date_time', at: '2031-07-01T10:00:00Z' }, steps: EXIT, status: 'active' }),
      )
      assert.strictEqual((await enrol(id, 'later@x.example')).body['data']?.['enrolled'], 1)
      const { body } = await call('GET', `/${id}/subscribers`)
      assert.strictEqual(listOf(body['data']?.['subscribers'])[0]?.['due_at'], '2031-07-01T10:00:00.000Z')
    })
  })
})
