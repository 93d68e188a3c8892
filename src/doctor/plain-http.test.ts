import { assert } from 'chai'
import { checkPlainHttp } from './plain-http.ts'

const LIVE = { isSandbox: false, httpPort: 3000 }

describe('doctor: plain HTTP', () => {
  const machine = (addresses: readonly string[], open: readonly string[]) => ({
    addresses,
    accepts: (address: string, port: number) => Promise.resolve(open.includes(`${address} ${port}`)),
  })
  it('warns when the port is open at a public address, and names port and address', async () => {
    const found = await checkPlainHttp(LIVE, machine(['127.0.0.1', '8.8.4.4', '2606:4700::1'], ['8.8.4.4 3000']))
    assert.strictEqual(found.status, 'warning')
    assert.match(found.detail, /^port 3000 is open at 8\.8\.4\.4:/)
    assert.match(found.todo, /HTTP_HOST.*HTTPS_HOST.*mailstead-api\.socket.*firewall/)
  })
  const fine: readonly [string, readonly string[], readonly string[]][] = [
    ['open at loopback only', ['127.0.0.1', '8.8.4.4'], ['127.0.0.1 3000']],
    ['open at a private address, which proxies use', ['10.0.0.5', 'fe80::1'], ['10.0.0.5 3000', 'fe80::1 3000']],
    ['another port is open', ['8.8.4.4'], ['8.8.4.4 3443']],
  ]
  for (const [name, addresses, open] of fine)
    it(`accepts ${name}`, async () => {
      assert.strictEqual((await checkPlainHttp(LIVE, machine(addresses, open))).status, 'ok')
    })
  it('leaves out the sandbox', async () => {
    const found = await checkPlainHttp({ ...LIVE, isSandbox: true }, machine(['8.8.4.4'], ['8.8.4.4 3000']))
    assert.strictEqual(found.status, 'skipped')
  })
})
