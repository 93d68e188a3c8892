import { assert } from 'chai'
import fc from 'fast-check'
import { BASE } from './shaping-file.test-data.ts'
import { readShaping, type ShapingProblem } from './shaping-file.ts'
import { lintShaping } from './shaping-lint.ts'

const lint = (text: string): ShapingProblem[] => lintShaping(readShaping(text))

const rules = (...lines: string[]): string => `${BASE}rules:\n${lines.map((line) => `  - ${line}\n`).join('')}`
const WRONG: readonly [what: string, file: string, line: number, text: RegExp][] = [
  ['no YAML', 'receivers: [', 1, /./],
  ['thousands of brackets', `receivers:\n${'{['.repeat(10_000)}`, 2, /more than 20 brackets are open here/],
  ['thousands of lists in lists', `receivers:\n${'- '.repeat(50_000)}`, 2, /nested too deeply/],
  ['an empty file', '', 0, /needs "receivers:"/],
  ['no section receivers', 'rules: []\n', 0, /the section "receivers:" is missing: add it, with default: \{/],
  ['a section of another type', 'receivers: []\n', 1, /receivers: must be of the type object, and is a list/],
  ['no limit', BASE.replace('connections: 10, ', ''), 4, /default\.connections: is missing/],
  [
    'a limit that is a text',
    BASE.replace('connections: 10', 'connections: x'),
    4,
    /of the type number, and is a string/,
  ],
  ['an unknown key', `${BASE}rulez: []\n`, 1, /rulez/],
  ['a limit of zero', BASE.replace('connections: 10', 'connections: 0'), 4, /at least 1/],
  ['a rate of zero', BASE.replace('connections: 10', 'message_rate: 0/min, connections: 10'), 4, /rate/],
  ['no default', BASE.replace('  default', '  other'), 0, /"default" is missing/],
  [
    'a receiver that never matches',
    BASE.replace('  default', '  other: {connections: 1, messages_per_connection: 1}\n  default'),
    4,
    /never matches/,
  ],
  [
    'a receiver twice',
    BASE.replace('  default', '  google: {connections: 1, messages_per_connection: 1}\n  default'),
    4,
    /unique/,
  ],
  [
    'hosts that an earlier receiver covers',
    BASE.replace(
      '  transport',
      "  late: {mx: ['*.l.google.com'], connections: 1, messages_per_connection: 1}\n  transport",
    ),
    3,
    /never matches: the earlier google covers it/,
  ],
  [
    'a domain that an earlier receiver covers',
    BASE.replace(
      '  transport',
      '  late: {domains: [gmail.com], connections: 1, messages_per_connection: 1}\n  transport',
    ),
    3,
    /never matches/,
  ],
  ['the same host twice', BASE.replace("'*.google.com'", "'*.google.com', '*.google.com'"), 2, /never matches/],
  ['an unknown receiver', rules('{name: a, receiver: gogle, code: 421, action: slow}'), 6, /no receiver named gogle/],
  [
    'a duplicate rule name',
    rules('{name: a, code: 421, action: slow}', '{name: a, code: 451, action: slow}'),
    7,
    /has the same name/,
  ],
  [
    'a rule after one that matches everything',
    rules('{name: a, action: tell}', '{name: b, code: 421, action: slow}'),
    7,
    /never match.*rule a covers/,
  ],
  [
    'a narrower rule after a wider one',
    rules(
      '{name: a, code: [421, 451], action: slow}',
      '{name: b, receiver: google, code: 421, text: busy, action: slow}',
    ),
    7,
    /never match/,
  ],
  [
    'the same pattern twice',
    rules('{name: a, text: "too m", action: slow}', '{name: b, code: 421, text: "too m", action: slow}'),
    7,
    /never match/,
  ],
  [
    'a text that an earlier pattern matches',
    rules('{name: a, text: "too (many|much)", action: slow}', '{name: b, text: "too many clients", action: slow}'),
    7,
    /never match/,
  ],
  [
    'a rule that two earlier rules cover together',
    rules(
      '{name: a, code: 421, text: busy, action: slow}',
      '{name: b, code: [450, 451], text: busy, action: slow}',
      '{name: c, code: [421, 451], text: busy, action: tell}',
    ),
    8,
    /never match.*a and b cover/,
  ],
  [
    'a rule for all receivers after rules for each',
    rules(
      '{name: a, receiver: [google, default], text: busy, action: slow}',
      '{name: b, receiver: transport-map, text: busy, action: slow}',
      '{name: c, text: busy, action: tell}',
    ),
    8,
    /never match/,
  ],
  [
    'a pattern whose alternatives are all covered',
    rules(
      '{name: a, text: "too (many|much)", action: slow}',
      '{name: b, text: "wait (a|the)", action: slow}',
      '{name: c, text: "too many clients|wait a bit", action: tell}',
    ),
    8,
    /never match/,
  ],
  [
    'an alternative of an earlier pattern',
    rules('{name: a, text: "busy|too m.ny", action: slow}', '{name: b, code: 421, text: "too m.ny", action: tell}'),
    7,
    /never match/,
  ],
  ['a ^ in the middle of a pattern', rules('{name: a, text: "too^many", action: slow}'), 6, /never match/],
  ['a $ in the middle of a pattern', rules('{name: a, text: "busy$now|full$x", action: slow}'), 6, /never match/],
  ['a code below 400', rules('{name: a, code: 250, action: slow}'), 6, /4xx or 5xx/],
  ['a suspension without a duration', rules('{name: a, code: 421, action: suspend}'), 6, /duration/],
  ['a duration without a suspension', rules('{name: a, code: 421, action: slow, for: 2h}'), 6, /only to suspend/],
  ['an unknown alias', '*-', 0, /alias/i],
  ['a pattern that repeats a group', rules('{name: a, text: "(a+)+", action: slow}'), 6, /group/],
]

describe('the linter of shaping files', () => {
  it('does not count brackets in texts and comments', () => {
    const texts = rules(`{name: a, text: "${'\\\\['.repeat(30)}", action: slow} # ${'{'.repeat(30)}`)
    assert.notInclude(JSON.stringify(lint(texts)), 'brackets')
  })
  for (const [what, file, line, text] of WRONG) {
    it(`finds ${what}, and its line`, () => {
      const problems = lint(file)
      assert.ok(
        problems.some((problem) => problem.line === line && text.test(problem.text)),
        JSON.stringify(problems),
      )
    })
  }
  it('reports no rule that can match', () => {
    assert.deepEqual(
      lint(
        rules(
          '{name: a, receiver: google, text: "too many", action: slow}',
          '{name: b, text: "too many", action: tell}',
          '{name: c, code: 421, text: "^too", action: slow}',
          '{name: d, code: 421, text: "is too", action: slow}',
          '{name: e, code: 421, enhanced: 4.7.0, action: slow}',
          '{name: f, code: 421, action: slow}',
          '{name: g, receiver: google, action: suspend, for: 90s, of: workspace}',
          '{name: h, code: [450, 451], text: "a|b", action: slow}',
          '{name: i, code: [451, 452], text: "a|b", action: slow}',
          '{name: j, code: 450, text: "a|c[|]d", action: slow}',
          '{name: k, text: "(^a|b$)|[$^]|x$|y\\\\$z|a?^b", action: slow}',
          '{name: l, code: 450, text: "a|", action: slow}',
        ),
      ),
      [],
    )
  })
  it('never throws, whatever the text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        lint(text)
      }),
    )
  })
})
