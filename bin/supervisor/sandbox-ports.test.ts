import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { chooseSandboxPorts } from './sandbox-ports.ts'

describe('sandbox ports', () => {
  async function portsFor(dns: number, smtp: number): Promise<[dns: number, smtp: number]> {
    const env = await chooseSandboxPorts(loadConfig({ SANDBOX_DNS_PORT: String(dns), SANDBOX_SMTP_PORT: String(smtp) }))
    return [Number(env['SANDBOX_DNS_PORT']), Number(env['SANDBOX_SMTP_PORT'])]
  }

  it('are those of the settings when they are free', async () => {
    const [dns, smtp] = await portsFor(0, 0)
    assert.deepEqual(await portsFor(dns, smtp), [dns, smtp])
  })

  it('are others when they are in use, by UDP or TCP, or equal', async () => {
    const udp = createSocket('udp4').bind(0, '127.0.0.1')
    const tcp = createServer().listen(0, '127.0.0.1')
    await Promise.all([once(udp, 'listening'), once(tcp, 'listening')])
    const takenTcp = (tcp.address() as AddressInfo).port
    const [dns, smtp] = await portsFor(udp.address().port, takenTcp)
    assert.ok(dns > 0 && smtp > 0 && dns !== udp.address().port && smtp !== takenTcp && dns !== smtp)
    const [free] = await portsFor(0, 0)
    const [one, other] = await portsFor(free, free)
    assert.strictEqual(one, free)
    assert.notStrictEqual(other, free)
    udp.close()
    tcp.close()
  })

  it('are reported outside of sandbox mode too, for captured mail', async () => {
    assert.deepEqual(Object.keys(await chooseSandboxPorts(loadConfig({ HOSTNAME: 'mail.example.com' }))), [
      'SANDBOX_DNS_PORT',
      'SANDBOX_SMTP_PORT',
    ])
  })
})
