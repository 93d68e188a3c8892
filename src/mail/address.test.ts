import { assert } from 'chai'
import * as fc from 'fast-check'
import { parseAddress, parseMailbox, splitMailboxes } from './address.ts'

const accepted: readonly [written: string, address: string, needsSmtputf8?: boolean][] = [
  ['a@b.co', 'a@b.co'],
  ['John.Doe+tag@Example.COM', 'John.Doe+tag@example.com'],
  ["o'brien=x!#$%&*/?^_`{|}~-@example.com", "o'brien=x!#$%&*/?^_`{|}~-@example.com"],
  ['1@2.example', '1@2.example'],
  ['constructor@example.com', 'constructor@example.com'],
  ['a@xn--bcher-kva.de', 'a@xn--bcher-kva.de'],
  ['a@bücher.de', 'a@xn--bcher-kva.de'],
  ['a@BÜCHER.de', 'a@xn--bcher-kva.de'],
  ['a@例え。テスト', 'a@xn--r8jz45g.xn--zckzah'],
  ['ü@bücher.de', 'ü@xn--bcher-kva.de', true],
  ['用户@例え.テスト', '用户@xn--r8jz45g.xn--zckzah', true],
  ['😀@example.com', '😀@example.com', true],
  ['"a b"@x.com', '"a b"@x.com'],
  ['"a@b"@x.com', '"a@b"@x.com'],
  ['"a\\"b\\\\c"@x.com', '"a\\"b\\\\c"@x.com'],
  ['"a..b"@x.com', '"a..b"@x.com'],
  ['""@x.com', '""@x.com'],
  // RFC 5321 §4.1.2: all quoted forms are one mailbox, the least quoting is sent
  ['"john"@x.com', 'john@x.com'],
  ['"j\\o\\h\\n"@x.com', 'john@x.com'],
  [`${'l'.repeat(64)}@x.com`, `${'l'.repeat(64)}@x.com`],
  [`a@${'d'.repeat(63)}.com`, `a@${'d'.repeat(63)}.com`],
  [`a@${'d.'.repeat(124)}com`, `a@${'d.'.repeat(124)}com`],
]

const refused: readonly [written: string, reason: RegExp][] = [
  ['j\ufffdrg@b.example', /not UTF-8/],
  ['', /empty/],
  ['a', /no "@"/],
  ['__proto__', /no "@"/],
  ['__proto__@example.com', /local part/],
  ['"__proto__"@example.com', /local part/],
  ['a@__proto__', /not allowed in a host name/],
  ['@b.co', /nothing before/],
  ['a@', /nothing after/],
  ['a@b', /no dot/],
  ['a@localhost', /no dot/],
  ['a b@c.de', /before the "@"/],
  ['a@b@c.de', /before the "@"/],
  ['.a@b.co', /before the "@"/],
  ['a.@b.co', /before the "@"/],
  ['a..b@b.co', /before the "@"/],
  ['a@b.co,c@d.co', /before the "@"/],
  ['a@b.co;c@d.co', /before the "@"/],
  ['a@b.co c@d.co', /before the "@"/],
  ['<a@b.co>', /before the "@"/],
  ['a(comment)@b.co', /before the "@"/],
  ['a\u00a0b@b.co', /before the "@"/],
  ['"a@b.co', /not well formed/],
  ['"a"b@b.co', /not well formed/],
  ['"a\\"@b.co', /not well formed/],
  ['a@.b.co', /label/],
  ['a@b..co', /label/],
  ['a@b.co.', /label/],
  ['a@-b.co', /label/],
  ['a@b-.co', /label/],
  ['a@b_c.co', /not allowed in a host name/],
  ['a@b.co/x', /not allowed in a host name/],
  ['a@ b.co', /not allowed in a host name/],
  ['a@exa%6dple.com', /not allowed in a host name/],
  ['a@ü%2e.com', /not allowed in a host name/],
  ['a@ü:80.com', /not allowed in a host name/],
  ['a@xn--\u00fc.com', /not valid/],
  ['a@[1.2.3.4]', /literal/],
  ['a@[IPv6:::1]', /literal/],
  ['a@1.2.3.4', /number/],
  ['a@１.２.３.４', /number/],
  ['a\r\nRCPT TO:<x@y.zz>@b.co', /control/],
  ['a@b.co\r\n', /control/],
  ['a@b.co\n', /control/],
  ['a\0@b.co', /control/],
  ['a@b\0.co', /control/],
  ['a\t@b.co', /control/],
  ['"a\rb"@b.co', /control/],
  ['a\u0085b@b.co', /control/],
  ['a\u2028b@b.co', /control/],
  ['a\u202eb@b.co', /control/],
  ['a\ud800b@b.co', /control/],
  [`${'l'.repeat(65)}@x.com`, /longer than 64/],
  [`${'ü'.repeat(33)}@x.com`, /longer than 64/],
  [`a@${'d'.repeat(64)}.com`, /label/],
  [`a@${'d.'.repeat(125)}com`, /longer than 254/],
  [`a@${'d.'.repeat(126)}com`, /longer than 253/],
  [`a@${'ü.'.repeat(120)}com`, /not valid|longer/],
  ['a@'.repeat(50_000), /longer/],
]

describe('parseAddress', () => {
  for (const [written, address, needsSmtputf8 = false] of accepted) {
    it(`accepts ${written.slice(0, 60)}`, () => {
      const result = parseAddress(written)
      assert.ok(result.ok, result.ok ? '' : result.reason)
      const { local, domain } = result.address
      assert.deepEqual(result.address, { local, domain, address, needsSmtputf8 })
      assert.strictEqual(`${local}@${domain}`, address)
      assert.deepEqual(parseAddress(address), result)
    })
  }
  for (const [written, reason] of refused) {
    it(`rejects ${JSON.stringify(written.slice(0, 60))}`, () => {
      const result = parseAddress(written)
      assert.ok(!result.ok)
      assert.match(result.reason, reason)
    })
  }
})

const mailboxes: readonly [written: string, email: string | RegExp, name?: string][] = [
  ['a@b.co', 'a@b.co'],
  ['  a@b.co ', 'a@b.co'],
  ['<a@b.co>', 'a@b.co'],
  ['< a@b.co >', 'a@b.co'],
  ['Name <a@b.co>', 'a@b.co', 'Name'],
  ['Name<A@B.co>', 'A@b.co', 'Name'],
  ['Two   Words  <a@b.co>', 'a@b.co', 'Two Words'],
  ['"Quoted, Name" <a@b.co>', 'a@b.co', 'Quoted, Name'],
  ['"Q \\"x\\" \\\\" <a@b.co>', 'a@b.co', 'Q "x" \\'],
  ['John "Johnny" Doe <a@b.co>', 'a@b.co', 'John Johnny Doe'],
  ['"" <a@b.co>', 'a@b.co'],
  ["J. R. O'Brien (sales) <a@b.co>", 'a@b.co', "J. R. O'Brien (sales)"],
  ['a@b.co <c@d.co>', 'c@d.co', 'a@b.co'],
  ['Zoë 😀 <ü@bücher.de>', 'ü@xn--bcher-kva.de', 'Zoë 😀'],
  ['"<x@y.zz>" <a@b.co>', 'a@b.co', '<x@y.zz>'],
  ['"a>b"@x.com', '"a>b"@x.com'],
  ['N <"a>b"@x.com>', '"a>b"@x.com', 'N'],
  ['', /empty/],
  ['<>', /empty/],
  ['Name', /no "@"/],
  ['Name <>', /empty/],
  ['Name <a@b.co', /after the ">"/],
  ['Name <a@b.co> x', /after the ">"/],
  ['Name a@b.co>', /before the "@"/],
  ['a@b.co, c@d.co', /before the "@"/],
  ['Doe, John <a@b.co>', /","/],
  ['a@b.co; b <c@d.co>', /";"/],
  ['x> <c@d.co>', /">"/],
  ['N <a@b.co>, M <c@d.co>', /before the "@"/],
  ['group: a@b.co;', /before the "@"/],
  ['"open <a@b.co>', /not well formed/],
  ['N\r\nBcc: x@y.zz <a@b.co>', /control/],
  ['N\0 <a@b.co>', /control/],
  [`${'n'.repeat(500)} <a@b.co>`, 'a@b.co', 'n'.repeat(500)],
  [`${'n'.repeat(501)} <a@b.co>`, /longer than 500/],
  ['"'.repeat(100_000), /too long/],
]

describe('parseMailbox', () => {
  for (const [written, email, name = null] of mailboxes) {
    it(`parses ${JSON.stringify(written.slice(0, 60))}`, () => {
      const result = parseMailbox(written)
      if (typeof email === 'string') assert.deepEqual(result, { ok: true, mailbox: { email, name } })
      else assert.match(result.ok ? 'taken' : result.reason, email)
    })
  }
})

describe('splitMailboxes', () => {
  const lists: readonly [string, readonly string[]][] = [
    ['', []],
    [' , ,, ', []],
    ['a@b.co', ['a@b.co']],
    ['a@b.co,c@d.co', ['a@b.co', 'c@d.co']],
    [' a@b.co , N <c@d.co>,', ['a@b.co', 'N <c@d.co>']],
    ['"X, Y" <a@b.co>, c@d.co', ['"X, Y" <a@b.co>', 'c@d.co']],
    ['"X\\", Y" <a@b.co>, c@d.co', ['"X\\", Y" <a@b.co>', 'c@d.co']],
    ['N <a,b@c.de>, c@d.co', ['N <a,b@c.de>', 'c@d.co']],
    ['"a,b"@c.de, c@d.co', ['"a,b"@c.de', 'c@d.co']],
    ['"open, a@b.co, c@d.co', ['"open, a@b.co, c@d.co']],
  ]
  for (const [text, pieces] of lists)
    it(`splits ${JSON.stringify(text)}`, () => assert.deepEqual(splitMailboxes(text), pieces))
})

const atext = fc.stringMatching(/^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]{1,12}$/)
const local = fc.oneof(
  fc.array(atext, { minLength: 1, maxLength: 4 }).map((atoms) => atoms.join('.')),
  fc.stringMatching(/^[ -~]{0,20}$/).map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`),
  fc.stringMatching(/^[à-öø-ÿа-я一-龯]{1,10}$/),
)
const label = fc.stringMatching(/^[a-zA-Z0-9](?:[a-z0-9-]{0,20}[a-z0-9])?$/).filter((text) => !/^xn--/i.test(text))
const domain = fc
  .tuple(fc.array(label, { minLength: 1, maxLength: 4 }), fc.stringMatching(/^[a-z]{2,10}$/))
  .map(([labels, top]) => [...labels, top].join('.'))
/** Text made of the characters that matter to the grammar, to cover unusual nesting. */
const hostile = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({
    unit: fc.constantFrom('a', '@', '.', '"', '\\', '<', '>', ',', ';', ' ', '[', '(', ':', '\r', '\n', '\0', 'ü', '-'),
    maxLength: 60,
  }),
)

describe('address properties', () => {
  it('a generated address is accepted, and parsing its canonical form changes nothing', () => {
    fc.assert(
      fc.property(local, domain, (before, after) => {
        fc.pre(!/^"?__proto__"?$/.test(before))
        const result = parseAddress(`${before}@${after}`)
        assert.ok(result.ok, result.ok ? '' : result.reason)
        assert.strictEqual(result.address.domain, after.toLowerCase())
        assert.deepEqual(parseAddress(result.address.address), result)
      }),
      { numRuns: 2000 },
    )
  })

  it('a quoted name is returned unchanged', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[!-~]{1,10}(?: [!-~à-ÿ]{1,10}){0,4}$/), domain, (name, host) => {
        const written = `"${name.replace(/["\\]/g, '\\$&')}" <a@${host}>`
        assert.deepEqual(parseMailbox(written), { ok: true, mailbox: { email: `a@${host.toLowerCase()}`, name } })
        assert.deepEqual(splitMailboxes(`${written}, x@y.zz`), [written, 'x@y.zz'])
      }),
      { numRuns: 1000 },
    )
  })

  it('never throws, and an accepted address is safe in SMTP commands', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        for (const piece of splitMailboxes(text)) {
          const result = parseMailbox(piece)
          if (!result.ok) continue
          assert.notMatch(result.mailbox.email, /[\r\n\0]/)
          assert.notMatch(result.mailbox.name ?? '', /[\r\n\0]/)
          assert.ok(parseAddress(result.mailbox.email).ok)
        }
      }),
      { numRuns: 5000 },
    )
  })
})
