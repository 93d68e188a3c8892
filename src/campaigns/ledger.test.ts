/**
 * Due times of ledger rows: by the recipients' time zones, whatever their names, and with an A/B test and a spread
 * combined.
 */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { storeContent } from '#src/deferred-content/content-store.ts'
import { sql } from '#src/stores/sql.ts'
import { addAudience, addMembers } from '#test/support/campaign.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { createSender, type Sender } from '#test/support/sender.ts'
import { writeLedger } from './ledger.ts'
import { lockCampaign } from './locked-campaign.ts'

describe('send times in a ledger', () => {
  let ctx: TestContext
  let sender: Sender
  before(async () => {
    ctx = await createContext()
    sender = await createSender(
      { db: ctx.db, encryption: ctx.encryption, keyPrefix: 'ms' },
      { domain: 'ledger.example' },
    )
  })
  after(() => ctx.close())

  /** A campaign that has just begun, with more columns as they are given. */
  async function begin(count: number, columns: Readonly<Record<string, unknown>>): Promise<string> {
    const { workspaceId } = sender
    const audienceId = await addAudience({ db: ctx.db, workspaceId })
    await addMembers({ db: ctx.db, workspaceId }, audienceId, { count, domain: 'zone.example' })
    const contentId = await storeContent(ctx.db, workspaceId, {
      templateId: null,
      templateVersion: null,
      subject: 'S',
      html: null,
      text: 'T',
    })
    const id = newId()
    const names = Object.keys(columns)
    await ctx.db.query(
      sql`
        INSERT INTO campaigns (
          id, workspace_id, name, status, audience_ids, from_email, domain_id, content_id, is_open,
          started_at${names.map((name) => `, ${name}`).join('')}
        )
        VALUES ($1, $2, 'C', 'SENDING', $3, $4, $5, $6, true, $7${names.map((_, i) => `, $${i + 8}`).join('')})
      `,
      [
        id,
        workspaceId,
        [audienceId],
        `a@${sender.domain}`,
        sender.domainId,
        contentId,
        new Date(ctx.clock.now() + 1),
        ...Object.values(columns),
      ],
    )
    return id
  }
  async function write(id: string): Promise<void> {
    await ctx.db.transaction(async (tx) => {
      const campaign = await lockCampaign(tx, id)
      assert.ok(campaign !== null)
      await writeLedger(tx, campaign)
    })
  }

  it('each recipient is due at its own local time, by any name of its zone', async () => {
    const zones: Readonly<Record<string, string>> = {
      'Asia/Kolkata': '03:30',
      'Asia/Calcutta': '03:30',
      'US/Pacific': '16:00',
      'Europe/Kyiv': '06:00',
      'europe/berlin': '07:00',
      GMT: '09:00',
      'Etc/GMT+5': '14:00',
      'America/Argentina/Buenos_Aires': '12:00',
    }
    const id = await begin(Object.keys(zones).length + 1, {
      send_mode: 'recipient_time',
      local_time: '2031-07-01_09:00:00',
      timezone: 'Asia/Kolkata',
    })
    for (const [i, zone] of Object.keys(zones).entries())
      await ctx.db.query('UPDATE contacts SET timezone = $3 WHERE workspace_id = $1 AND email = $2', [
        sender.workspaceId,
        `c${i + 1}@zone.example`,
        zone,
      ])
    await write(id)
    const { rows } = await ctx.db.query<{ zone: string | null; at: Date }>(
      sql`
        SELECT c.timezone AS zone, l.sends_at AS at
        FROM campaign_recipients l
        JOIN contacts c ON c.id = l.contact_id
        WHERE campaign_id = $1
      `,
      [id],
    )
    const found = Object.fromEntries(rows.map(({ zone, at }) => [zone ?? '', at.toISOString().slice(11, 16)]))
    assert.deepEqual(found, { ...zones, '': '03:30' })
  })
  it('contains members who joined just before the start, by a clock slightly ahead, too, but none later', async () => {
    const id = await begin(3, {})
    await ctx.db.query(
      sql`
        UPDATE memberships m
        SET created_at = k.started_at + interval '1 second' * (substring(m.email FROM 2 FOR 1)::int * 3 - 1)
        FROM campaigns k
        WHERE k.id = $1 AND m.audience_id = k.audience_ids[1]
      `,
      [id],
    )
    await write(id)
    const { rows } = await ctx.db.query<{ email: string }>(
      'SELECT email FROM campaign_recipients WHERE campaign_id = $1 ORDER BY email',
      [id],
    )
    assert.deepEqual(
      rows.map(({ email }) => email),
      ['c1@zone.example', 'c2@zone.example'],
    )
  })
  it('with a test and a spread, test recipients are due at once and the rest is spread after the test', async () => {
    const id = await begin(40, {
      send_mode: 'spread',
      spread_minutes: 100,
      subject_b: 'Other',
      test_percent: 20,
      test_minutes: 60,
    })
    await write(id)
    const {
      rows: [row],
    } = await ctx.db.query<{ test: number[]; rest: number[] }>(
      sql`
        SELECT array_agg(m) FILTER (WHERE variant IS NOT NULL) AS test,
          array_agg(m) FILTER (WHERE variant IS NULL) AS rest
        FROM (
          SELECT l.variant, extract(epoch FROM l.sends_at - k.started_at)::float8 / 60 AS m
          FROM campaign_recipients l
          JOIN campaigns k ON k.id = l.campaign_id
          WHERE k.id = $1
        ) t
      `,
      [id],
    )
    const { test, rest } = row ?? assert.fail()
    assert.deepEqual(
      test,
      Array.from({ length: 8 }, () => 0),
    )
    const inQuarter = (quarter: number): number =>
      rest.filter((minutes) => Math.floor((minutes - 60) / 25) === quarter).length
    assert.strictEqual(rest.length, 32)
    for (const quarter of [0, 1, 2, 3])
      assert.ok(Math.abs(inQuarter(quarter) - 8) <= 2, `${inQuarter(quarter)} in quarter ${quarter}`)
  })
})
