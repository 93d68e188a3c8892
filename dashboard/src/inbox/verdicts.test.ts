import { assert } from 'chai'
import { judge } from './verdicts.ts'

const signed = (domain: string, result = 'pass') => ({
  domain,
  result,
  selector: 's',
  algorithm: 'rsa-sha256',
  comment: null,
})

describe('verdicts of captured mail', () => {
  const cases: readonly [string, string | null, readonly ReturnType<typeof signed>[], boolean][] = [
    ['the same domain', 'Shop <a@shop.example>', [signed('shop.example')], true],
    ['a subdomain of the signature', 'a@mail.shop.example', [signed('shop.example')], true],
    ['a signature of a subdomain', 'a@shop.example', [signed('mail.shop.example')], true],
    ['another domain', 'a@shop.example', [signed('other.example')], false],
    ['a domain that only ends alike', 'a@shop.example', [signed('myshop.example')], false],
    ['a signature that fails', 'a@shop.example', [signed('shop.example', 'fail')], false],
    ['one good signature of two', 'a@shop.example', [signed('x.example'), signed('SHOP.example')], true],
    ['a name with an address in it', '"b@evil.example" <a@shop.example>', [signed('evil.example')], false],
    ['no signature', 'a@shop.example', [], false],
    ['no From', null, [signed('shop.example')], false],
    ['a From without a domain', 'a@', [signed('shop.example')], false],
  ]
  for (const [name, from, dkim, isPass] of cases)
    it(`${name}: DMARC ${isPass ? 'passes' : 'fails'}`, () =>
      assert.strictEqual(judge({ from, mail_from: '', dkim }).isDmarcPass, isPass))

  it('names the domain whose SPF record counts', () => {
    assert.strictEqual(
      judge({ from: null, mail_from: 'b-1@bounces.shop.example', dkim: [] }).spfDomain,
      'bounces.shop.example',
    )
    assert.isNull(judge({ from: null, mail_from: '', dkim: [] }).spfDomain)
  })
})
