import { assert } from 'chai'
import { parseOptions } from './options.ts'

describe('the options of the benchmark', () => {
  const cases: readonly { args: string[]; expected: Record<string, unknown> | string }[] = [
    {
      args: [],
      expected: {
        scenarios: ['e2e', 'smtp', 'latency', 'backlog', 'depth', 'api', 'import'],
        isQuick: false,
        hasReferences: true,
        isProfiled: false,
      },
    },
    { args: ['latency', '--quick'], expected: { scenarios: ['latency'], isQuick: true } },
    { args: ['e2e', '--no-references', '--profile'], expected: { hasReferences: false, isProfiled: true } },
    { args: ['references'], expected: { scenarios: ['references'] } },
    { args: ['speed'], expected: 'unknown scenario "speed"; --help lists all of them' },
    { args: ['--messages', '0'], expected: '--messages must be a whole number above 0' },
    { args: ['--repeats', '2.5'], expected: '--repeats must be a whole number above 0' },
  ]
  for (const { args, expected } of cases) {
    it(args.join(' ') || '(none)', () => {
      const options = parseOptions(args)
      if (typeof expected === 'string' || typeof options === 'string') assert.strictEqual(options, expected)
      else assert.containsSubset(options, expected)
    })
  }

  it('--messages and --repeats change the sizes', () => {
    const options = parseOptions(['--messages', '70', '--repeats', '2'])
    assert.ok(typeof options !== 'string')
    assert.deepEqual([options.sizes.messages, options.sizes.repeats, options.sizes.referenceMessages], [70, 2, 70])
  })

  it('--mail chooses the mail; an unknown kind is refused with those that exist', () => {
    assert.containsSubset(parseOptions(['e2e']), { mix: 'mixed' })
    assert.containsSubset(parseOptions(['--mail', 'html']), { mix: 'html' })
    const refused = 'unknown kind of mail "spam": use mixed, html, text, newsletter'
    assert.deepEqual(parseOptions(['--mail', 'spam']), refused)
  })

  it('an unknown flag is named in the error', () =>
    assert.match(JSON.stringify(parseOptions(['--fast'])), /^".*--fast/))
})
