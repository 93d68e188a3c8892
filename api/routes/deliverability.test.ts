import { assert } from 'chai'
import { countAllEvents, type EventFacts, storeMail, type MailFacts } from '#src/statistics/mail.test-data.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { listOf, OPERATOR_TOKEN, startApi, textOf, type Json, type Tenant, type TestApi } from '#test/support/api.ts'

const REPLY = '4.7.1 [192.0.2.1] is listed, mail of <a@sender.example> waits'

describe('deliverability desk by API', () => {
  let api: TestApi
  let other: Tenant
  const report = newId()
  before(async () => {
    api = await startApi({ DNS_SERVERS: '127.0.0.1:1' })
    other = await api.addTenant()
    const mail = async (facts: Partial<MailFacts>, events: readonly EventFacts[], times = 1): Promise<void> => {
      const ofMail = { workspaceId: api.workspaceId, at: new Date(), source: 'out1', ...facts }
      for (let n = 0; n < times; n++) await storeMail(api.db, ofMail, events)
    }
    const google = { host: 'alt1.gmail-smtp-in.l.google.com', tls: 'TLSv1.3' }
    await mail(google, [['email.sent'], ['email.delivered']], 3)
    await mail({ ...google, tls: null }, [
      ['email.sent'],
      ['email.bounced', { bounce_type: 'hard', bounce_class: 'no-such-user', bounce_message: '5.1.1 no such user' }],
    ])
    const deferred: EventFacts = ['email.deferred', { reason: 'blocked', message: REPLY }]
    await mail({ host: 'mx.gmx.net' }, [deferred], 12)
    await mail({ host: 'mx00.kundenserver.de' }, [deferred])
    await mail({ workspaceId: other.workspaceId, host: 'mx.theirs.example' }, [
      ['email.deferred', { reason: 'policy', message: 'zzmarkzz' }],
    ])
    await api.db.query(
      sql`INSERT INTO egress_sources (id, name, address, ehlo_name, region, check_due_at, created_at, machine)
       VALUES ($1, 'out1', '192.0.2.1', 'out1.example.net', 'eu', now(), now(), 'm')`,
      [newId()],
    )
    await api.db.query(
      sql`INSERT INTO egress_checks (source_id, name, status, detail, todo, since, checked_at)
       SELECT id, 'blocklists', 'failed', 'zen.example lists it', 'ask for removal', now(), now()
       FROM egress_sources`,
    )
    await api.db.query(
      sql`INSERT INTO receiver_suspensions (id, pace, source, workspace_id, rule, reply, until)
       VALUES ($1, 'yahoo', '*', $2, 'yahoo-ts04', '[TSS04] zzmarkzz', now() + interval '1 hour'),
         ($3, 'icloud', '*', NULL, 'icloud-reputation', 'HM08 zzmarkzz', now() + interval '1 hour')`,
      [newId(), other.workspaceId, newId()],
    )
    const domain = `(SELECT id FROM domains WHERE workspace_id = $1 LIMIT 1)`
    await api.db.query(
      sql`INSERT INTO dmarc_reports (id, workspace_id, domain_id, organization, report_id, signer, begins_at, ends_at,
         policy_domain, policy, percent, messages, passed)
       VALUES ($2, $1, ${domain}, 'google.com', 'r1', 'google.com', now(), now(), 'sender.example', 'none', 100,
         250, 50)`,
      [api.workspaceId, report],
    )
    await api.db.query(
      sql`INSERT INTO dmarc_sources (report_id, n, domain_id, day, source_ip, header_from, messages, disposition,
         is_dkim_aligned, is_spf_aligned)
       SELECT $2, n, ${domain}, current_date, '192.0.2.1', 'sender.example', messages, 'none', n = 1, false
       FROM (VALUES (1, 50), (2, 200)) AS v (n, messages)`,
      [api.workspaceId, report],
    )
    await countAllEvents(api)
  })
  after(() => api.stop())

  async function read(path: string, key: string): Promise<Json> {
    const { status, body } = await api.call('GET', path, { key })
    assert.strictEqual(status, 200, JSON.stringify(body))
    return body['data'] as Json
  }
  const named = (data: Json, name: string): Json => {
    const found = listOf(data['receivers']).find((one) => textOf(one['name']) === name)
    assert.ok(found !== undefined, JSON.stringify(data['receivers']))
    return found
  }

  it('shows each receiver with its counts, share of TLS, reasons and sources', async () => {
    const data = await read('/admin/deliverability', OPERATOR_TOKEN)
    const google = named(data, 'google')
    assert.deepInclude(google['day'] as Json, { sent: 4, delivered: 3, bounced_hard: 1, deferred: 0 })
    assert.deepEqual([google['title'], google['encrypted'], listOf(google['hours']).length], ['Google', 3, 1])
    const gmx = named(data, 'webde-gmx')
    assert.deepEqual(gmx['domains'], ['gmx.net', 'kundenserver.de'])
    const [reason] = listOf(gmx['reasons'])
    assert.deepEqual(
      [reason?.['class'], reason?.['deferred'], reason?.['reply']],
      ['blocked', 13, '4.7.1 [192.0.2.1] is listed, mail of <(address)> waits'],
    )
    assert.deepEqual(
      listOf(gmx['sources']).map((one) => [one['name'], (one['traffic'] as Json)['deferred']]),
      [['out1', 13]],
    )
  })

  it('names what to do next, with the words of the receiver', async () => {
    const data = await read('/admin/deliverability', OPERATOR_TOKEN)
    assert.deepEqual(
      listOf(data['actions']).map((one) => [one['rule'], one['subject']]),
      [
        ['listed-and-refused', 'out1'],
        ['suspended', 'Yahoo and AOL'],
        ['suspended', 'iCloud'],
      ],
    )
    assert.match(textOf(listOf(data['actions'])[0]?.['reply']), /is listed/)
  })

  it('shows mail that fails DMARC, to the operator and to the workspace of the domain', async () => {
    const failure = { domain: 'sender.example', address: '192.0.2.1', messages: 250, failed: 200 }
    for (const [path, key] of [
      ['/admin/deliverability', OPERATOR_TOKEN],
      ['/public/deliverability', api.admin],
    ] as const)
      assert.deepInclude(listOf((await read(path, key))['dmarc'])[0], { ...failure, reporter: 'google.com' })
    assert.lengthOf(listOf((await read('/public/deliverability', other.admin))['dmarc']), 0)
  })

  it('shows a workspace its own mail, and nothing of what others caused', async () => {
    const data = await read('/public/deliverability', api.admin)
    assert.notInclude(JSON.stringify(data), 'zzmarkzz')
    assert.notInclude(JSON.stringify(data), 'theirs.example')
    const [throttle] = listOf(named(data, 'icloud')['throttles'])
    assert.deepEqual([throttle?.['state'], throttle?.['reply'], throttle?.['rule']], ['suspended', null, null])
    assert.isUndefined(listOf(data['receivers']).find((one) => textOf(one['name']) === 'yahoo'))
    assert.deepEqual(
      listOf(data['domains']).map((one) => one['name']),
      ['sender.example'],
    )
    const theirs = await read('/public/deliverability', other.admin)
    assert.include(JSON.stringify(named(theirs, 'yahoo')['throttles']), '[TSS04] zzmarkzz')
    assert.deepInclude(named(theirs, 'theirs.example')['day'] as Json, { deferred: 1, sent: 0 })
  })
})
