/** Complaints of feedback loops that redact the addresses of a message. */
import { assert } from 'chai'
import { arfOf } from '#test/support/reports.ts'
import { submitMessage } from '#test/support/smtp-connection.ts'
import { setUpInbound } from './inbound.test-data.ts'

describe('complaints with redacted addresses', () => {
  const scene = setUpInbound()
  const { sent, bring, applied, results, suppressionOf } = scene

  it('a complaint without addresses finds its mail by the token of its own field', async () => {
    const one = await sent()
    const token = one.returnPath.slice(0, one.returnPath.indexOf('@'))
    await bring('fbl@bounces.mta.sender.example', arfOf('abuse', `X-Mailstead-Token: ${token}\nTo: redacted`))
    await applied()
    assert.strictEqual((await suppressionOf(one.address))?.kind, 'complaint')
  })

  it('a complaint without a token finds its mail by Message-ID, if the report is authentic', async () => {
    const one = await sent()
    const report = arfOf('abuse', `Message-ID: <${one.messageId.replaceAll('-', '')}@sender.example>\nTo: redacted`)
    const to = 'fbl@bounces.mta.sender.example'
    const from = (domain: string): Promise<unknown> =>
      submitMessage(scene.inbound.port, { from: `fbl@${domain}`, to, content: report })
    await from('stranger.example')
    assert.deepEqual(await results(one.messageId), [])
    await from('receiver.example')
    await applied()
    assert.deepEqual(await results(one.messageId), ['complaint: complained'])
    assert.strictEqual((await suppressionOf(one.address))?.kind, 'complaint')
  })
})
