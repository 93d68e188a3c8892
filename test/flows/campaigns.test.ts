/** A campaign from its draft to the last of its recipients, with all processes. */
import assert from 'node:assert/strict'
import { simpleParser } from 'mailparser'
import { addAudience, addMembers, campaignsOf } from '#test/support/campaign.ts'
import { openPostOffice, type PostOffice } from '#test/support/post-office.ts'

describe('campaigns', function () {
  this.timeout(60_000)
  let office: PostOffice
  let campaigns: ReturnType<typeof campaignsOf>
  before(async () => {
    office = await openPostOffice()
    campaigns = campaignsOf(office.system)
  })
  after(() => office.stop())
  afterEach(function () {
    if (this.currentTest?.state === 'failed') process.stderr.write(office.system.tellLogs())
  })
  async function audienceOf(count: number, domain: string): Promise<string> {
    const audience = await addAudience(office.system)
    await addMembers(office.system, audience, { count, domain })
    return audience
  }

  it('goes to each member of its audiences once, made for them, and is COMPLETED', async () => {
    const mx = await office.open('once.example')
    const [one, two] = [await audienceOf(40, 'once.example'), await audienceOf(60, 'once.example')]
    const id = await campaigns.create({ audience_ids: [one, two] })
    assert.equal((await campaigns.move(id, 'start'))['status'], 'SENDING')
    const told = await campaigns.settle(id)
    const metrics = told['metrics'] as unknown as Record<string, number>
    assert.deepEqual([metrics['recipients'], metrics['dispatched'], metrics['delivered'], metrics['waiting']], [60, 60, 60, 0])
    assert.deepEqual(mx.messages.flatMap(({ to }) => to).toSorted(), Array.from({ length: 60 }, (_, i) => `c${i + 1}@once.example`).toSorted())
    const mail = await simpleParser(mx.messages.find(({ to }) => to.includes('c7@once.example'))?.bytes ?? '')
    assert.equal(mail.subject, 'Hello N7')
    assert.match(mail.text ?? '', /Hello N7/)
    const header = String(mail.headerLines.find(({ key }) => key === 'list-unsubscribe-post')?.line)
    assert.match(header, /One-Click/)
  })
})
