import { assert } from 'chai'
import fc from 'fast-check'
import { chooseRoute, parseRouteAddress } from './route-address.ts'

describe('the address of an inbound route', () => {
  const ADDRESSES: readonly [address: string, parsed: string | null][] = [
    ['Support@Example.com', 'support example.com'],
    ['*@example.com', '* example.com'],
    ['sales-*@example.com', 'sales-* example.com'],
    ['reply+*@example.com', 'reply+* example.com'],
    ['a*b*@example.com', null],
    ['support', null],
    ['@example.com', null],
    ['sup port@example.com', null],
    ['"quoted"@example.com', null],
    ['support@', null],
    ['a@b@example.com', null],
    [`${'a'.repeat(65)}@example.com`, null],
  ]
  for (const [address, expected] of ADDRESSES)
    it(`${address.slice(0, 30)} is ${expected ?? 'refused'}`, () => {
      const parsed = parseRouteAddress(address)
      assert.equal(parsed === null ? null : `${parsed.localPart} ${parsed.domain}`, expected)
    })

  const ROUTES = [
    ['support', 0],
    ['support+vip', 0],
    ['sales-*', 0],
    ['sales-eu-*', 0],
    ['*-archive', 5],
  ] as const
  const CHOICES: readonly [localPart: string, route: string | null][] = [
    ['support', 'support'],
    ['SUPPORT', 'support'],
    ['support+x', 'support'],
    ['support+vip', 'support+vip'],
    ['sales-us', 'sales-*'],
    ['sales-', 'sales-*'],
    ['sales-eu-1', 'sales-eu-*'],
    ['sales-eu-archive', '*-archive'],
    ['+support', null],
    ['info', null],
    ['', null],
  ]
  const routes = ROUTES.map(([localPart, priority]) => ({ localPart, priority }))
  for (const [localPart, route] of CHOICES)
    it(`${localPart === '' ? 'nothing' : localPart} goes to ${route ?? 'no route'}`, () => {
      assert.equal(chooseRoute(routes, localPart)?.localPart ?? null, route)
    })

  it('a catch-all matches everything, and only where nothing else does', () => {
    const all = [...routes, { localPart: '*', priority: 0 }]
    fc.assert(
      fc.property(fc.string({ maxLength: 80 }), (localPart) => {
        const without = chooseRoute(routes, localPart)?.localPart ?? '*'
        assert.equal(chooseRoute(all, localPart)?.localPart, without)
      }),
    )
  })

  it('an asterisk does not match its two ends twice', () => {
    assert.isNull(chooseRoute([{ localPart: 'aa*aa', priority: 0 }], 'aaa'))
    assert.isNotNull(chooseRoute([{ localPart: 'aa*aa', priority: 0 }], 'aaaa'))
  })
})
