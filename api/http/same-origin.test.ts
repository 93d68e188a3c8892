import { assert } from 'chai'
import { isForeign, isFromHere } from './same-origin.ts'

const HTTPS = { publicUrl: 'https://mail.example' }
const HTTP = { publicUrl: 'http://localhost:3000' }

type Given = Readonly<Record<string, string>>

describe('requests of pages of this service', () => {
  const CASES: readonly [
    what: string,
    config: { publicUrl: string },
    method: string,
    headers: Given,
    isHere: boolean,
  ][] = [
    ['a change with the own origin', HTTPS, 'POST', { origin: 'https://mail.example' }, true],
    ['a change with neither header', HTTPS, 'POST', {}, false],
    ['reading with neither header', HTTPS, 'GET', {}, true],
    ['a request from the address bar', HTTPS, 'GET', { 'sec-fetch-site': 'none' }, true],
    ['a change from the address bar', HTTPS, 'POST', { 'sec-fetch-site': 'none' }, false],
    ['reading from another site', HTTPS, 'GET', { 'sec-fetch-site': 'cross-site' }, false],
    ['a sibling host', HTTPS, 'GET', { 'sec-fetch-site': 'same-site' }, false],
    ['the own host without TLS', HTTPS, 'POST', { origin: 'http://mail.example', host: 'mail.example' }, false],
    ['another port', HTTPS, 'POST', { origin: 'https://mail.example:8443', host: 'mail.example' }, false],
    ['another name of this host', HTTP, 'POST', { origin: 'http://127.0.0.1:3000', host: '127.0.0.1:3000' }, true],
    ['a name that ends with the own one', HTTPS, 'POST', { origin: 'https://evilmail.example' }, false],
    ['no origin', HTTPS, 'POST', { origin: 'null' }, false],
    ['text that is no origin', HTTPS, 'POST', { origin: '%' }, false],
  ]
  for (const [what, config, method, headers, isHere] of CASES)
    it(`${what}: ${isHere ? 'yes' : 'no'}`, () => assert.equal(isFromHere(config, { method, headers }), isHere))

  it('a program that logs in sends neither header, a browser one', () => {
    assert.isFalse(isForeign(HTTPS, {}))
    assert.isTrue(isForeign(HTTPS, { origin: 'https://evil.example' }))
    assert.isTrue(isForeign(HTTPS, { 'sec-fetch-site': 'cross-site' }))
    assert.isFalse(isForeign(HTTPS, { 'sec-fetch-site': 'same-origin' }))
  })
})
