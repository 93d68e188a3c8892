/** Where an account's server may be, and a server that says back what it was told. */
import assert from 'node:assert/strict'
import { createServer, type AddressInfo, type LookupFunction } from 'node:net'
import { cidrs } from '#config/read.ts'
import { chooseTimeouts } from '#mta/smtp/timeouts.ts'
import type { Account } from '#src/providers/accounts.ts'
import { createBreaker } from './breaker.ts'
import { hideSecrets, resolveHost, type AccountOpening } from './relay-opening.ts'
import { createRelay } from './relay.ts'

const PUBLIC = { 'public.example': ['9.9.9.9'], 'inside.example': ['10.9.0.1'], 'both.example': ['10.9.0.1', '9.9.9.9'] }
const lookup: LookupFunction = (name, _options, callback) => {
  const found = PUBLIC[name as keyof typeof PUBLIC]
  if (found === undefined) callback(new Error('no such name'), '')
  else callback(null, found.map((address) => ({ address, family: 4 })))
}
const allowed = cidrs('10.9.0.0/16')

describe('the server of an account', () => {
  const CASES: readonly (readonly [host: string, security: Account['security'], expected: readonly string[] | RegExp])[] = [
    ['public.example', 'starttls', ['9.9.9.9']], ['inside.example', 'tls', ['10.9.0.1']], ['9.9.9.9', 'tls', ['9.9.9.9']], ['10.9.3.3', 'none', ['10.9.3.3']],
    ['127.0.0.1', 'tls', /private or reserved/], ['::1', 'tls', /private or reserved/], ['nowhere.example', 'tls', /no such name/],
    ['public.example', 'none', /nobody signs in/], ['both.example', 'none', ['10.9.0.1']],
  ]
  for (const [host, security, expected] of CASES) it(`${host}, ${security}`, async () => {
    const found = await resolveHost({ lookup, allowed }, { host, security })
    if (expected instanceof RegExp) assert.match('detail' in found ? found.detail : '', expected)
    else assert.deepEqual(found, expected)
  })
})

describe('what a server says back', () => {
  it('short texts are left alone, all others hidden wherever they stand', () => {
    assert.equal(hideSecrets('535 hunter22 and aHVudGVyMjI= and a', ['hunter22', 'aHVudGVyMjI=', 'a']), '535 ******** and ******** and a')
  })
  it('the password does not come into the record, the reason or the pause', async () => {
    const password = 'hunter22-hunter22'
    const server = createServer((socket) => {
      let isGreeted = false
      socket.on('error', () => undefined).write('220 hello\r\n')
      socket.on('data', (chunk) => {
        const [, said = ''] = /AUTH PLAIN (\S+)/.exec(chunk.toString()) ?? []
        socket.write(isGreeted ? `535-5.7.8 not with ${said}\r\n535 5.7.8 nor ${Buffer.from(said, 'base64').toString().replaceAll('\0', ' ')}\r\n` : '250-hello\r\n250 AUTH PLAIN\r\n')
        isGreeted = true
      })
    })
    await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve) })
    const account: Account = {
      id: '019a9a00-0000-7000-8000-0000000000aa', workspaceId: '', kind: 'smtp', provider: null, name: 'x', host: '127.0.0.1',
      port: (server.address() as AddressInfo).port, security: 'none', username: 'me', addresses: ['me@x.example'], generation: 1, accessExpiresAt: null,
      state: 'active', pausedReason: null, pausedAt: null, limits: { connections: 1, messagesPerConnection: 1, messagesPerMinute: null },
      createdAt: new Date(0), updatedAt: new Date(0),
    }
    const opening: AccountOpening = {
      settings: { ehloName: 'us.example', tls: 'never', rejectUnauthorized: true, timeouts: chooseTimeouts({ quit: 100 }) }, lookup, allowed: cidrs('127.0.0.0/8'),
      credential: () => Promise.resolve({ kind: 'credential', credential: { kind: 'password', username: 'me', password } }),
    }
    const pauses: string[] = []
    const relay = createRelay({
      ...opening, breaker: createBreaker(() => 0, 1), now: () => 0, scale: 1, pause: (_, reason) => Promise.resolve(pauses.push(reason)),
    })
    const attempt = await relay.deliver({ account, mail: { from: 'me@x.example', to: 'a@b.example', data: Buffer.from('x: y\r\n\r\n'), smtputf8: false } })
    await relay.close()
    server.close()
    assert.equal(pauses.length, 1)
    assert.match(pauses[0] ?? '', /does not let me in: 535/)
    const told = JSON.stringify([attempt, pauses])
    for (const secret of [password, Buffer.from(`\0me\0${password}`).toString('base64')]) assert.ok(!told.includes(secret), told)
  })
})
