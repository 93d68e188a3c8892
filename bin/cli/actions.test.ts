import { assert } from 'chai'
import { runCommand, type CommandResult } from '#test/support/command.ts'
import { runAction, runActions } from './actions.ts'
import { type CliAction, type CliActions, UsageError } from './call.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'

/** Control characters and escape sequences of a terminal. */
const HOSTILE = '\u001b[31m\u009b2J\u0007\u007f\r<b>'

const DESCRIBED = { summary: 'do it', examples: ['do it'] } as const

const ACTIONS: Readonly<Record<string, CliAction>> = {
  make: {
    usage: 'make --name N [--big] [WORD]',
    summary: 'make a thing',
    examples: ['make --name a', 'make --name a --big word'],
    about: { big: 'of the largest size' },
    options: ['name'],
    flags: ['big'],
    arguments: [0, 1],
    run: (call) =>
      Promise.resolve(
        call.respond('made', {
          name: call.required('name'),
          big: call.has('big'),
          words: call.arguments,
          other: call.option('other'),
        }),
      ),
  },
  take: {
    ...DESCRIBED,
    usage: 'take ID',
    arguments: [1, 1],
    run: (call) => Promise.resolve(call.fail(`no ${call.argument(0)}`, '')),
  },
  refuse: { ...DESCRIBED, usage: 'refuse', run: () => Promise.reject(new UsageError('not like this')) },
  print: {
    ...DESCRIBED,
    usage: 'print',
    run: (call) => Promise.resolve(call.respond(`one\n\ttwo ${HOSTILE}`, { text: HOSTILE })),
  },
  states: {
    ...DESCRIBED,
    usage: 'states',
    run: (call) => Promise.resolve(call.respond('NAME  STATE\na     failed', { state: 'failed' })),
  },
  break: { ...DESCRIBED, usage: 'break', run: () => Promise.reject(new Error('a bug')) },
}

const invoke = (args: readonly string[]): Promise<CommandResult> =>
  runCommand((words, io) => runActions('thing', ACTIONS, words, io), [...args])

/** Wrong arguments, and the message before the usage. */
const WRONG: readonly [args: readonly string[], message: RegExp][] = [
  [[], /^mailstead thing: an action is missing/],
  [['fly'], /unknown action "fly"/],
  [['__proto__'], /unknown action "__proto__"/],
  [['constructor'], /unknown action "constructor"/],
  [['make'], /--name is missing/],
  [['make', '--name', ' '], /--name is missing/],
  [['make', '--name'], /--name/],
  [['make', '--name', 'a', '--unknown'], /--unknown/],
  [['make', '--name', 'a', 'one', 'two'], /"two" is one argument too many/],
  [['make', '--name', 'a', '--big=yes'], /--big/],
  [['take'], /an argument is missing/],
  [['refuse'], /not like this/],
]

describe('command line', () => {
  it('removes control characters from text, and keeps them in JSON', async () => {
    assert.strictEqual((await invoke(['print'])).out, 'one\n\ttwo ?[31m?2J???<b>\n')
    assert.strictEqual((await invoke(['take', HOSTILE])).err, 'no ?[31m?2J???<b>\n')
    const { out } = await invoke(['print', '--json'])
    assert.notMatch(out, /[^\P{Cc}\n]/u)
    assert.deepEqual(JSON.parse(out), { text: HOSTILE })
    assert.strictEqual(tableText(['A', 'B'], [['x\u202ey\u2028z', 'c\nd']]), 'A      B\nx?y?z  c?d')
  })
  for (const [args, message] of WRONG) {
    it(`refuses thing ${args.join(' ')}`, async () => {
      const { code, out, err } = await invoke(args)
      assert.strictEqual(code, 2)
      assert.strictEqual(out, '')
      assert.match(err, message)
      assert.match(err, /\nUsage: mailstead thing /)
    })
  }

  it('prints text, or JSON with --json', async () => {
    assert.deepEqual(await invoke(['make', '--name', 'a']), { code: 0, out: 'made\n', err: '' })
    const { out } = await invoke(['make', '--name=a', '--big', '--json', '--', '-x'])
    assert.deepEqual(JSON.parse(out), { name: 'a', big: true, words: ['-x'], other: null })
  })

  it('reports a failure on stderr with exit code 1', async () => {
    assert.deepEqual(await invoke(['take', 'x', '--json']), { code: 1, out: '', err: 'no x\n' })
  })

  it('prints usage, options and examples with --help', async () => {
    const all = await invoke(['--help'])
    assert.deepEqual([all.code, all.err], [0, ''])
    for (const [name, { usage }] of Object.entries(ACTIONS)) {
      assert.include(all.out, `mailstead thing ${usage} [--json]`)
      assert.match(all.out, new RegExp(`^  ${name} +`, 'm'))
    }
    assert.deepEqual(await invoke(['make', '-h']), {
      code: 0,
      out: [
        'Usage: mailstead thing make --name N [--big] [WORD] [--json]\n',
        'make a thing\n',
        'Options:',
        '  --name <N>  a name',
        '  --big       of the largest size',
        '  --json      print the result as JSON',
        '  -h, --help  print this help\n',
        'Examples:',
        '  $ mailstead thing make --name a',
        '  $ mailstead thing make --name a --big word\n\n',
      ].join('\n'),
      err: '',
    })
  })

  const NEAREST: readonly (readonly [args: readonly string[], message: string])[] = [
    [['mkae'], 'unknown action "mkae". Did you mean make?'],
    [['make', '--nme', 'a'], 'unknown option --nme. Did you mean --name?'],
    [['make', '--name'], '--name needs a value'],
    [['create'], 'unknown action "create"'],
    [['--name', 'a'], 'an action is missing: write one of make, take, refuse, print, states, break before --name'],
    [['make', '--name', '--big'], '--name needs a value. If --big is the value, write --name=--big'],
  ]
  for (const [args, message] of NEAREST) {
    it(`explains thing ${args.join(' ')}`, async () => {
      const { code, err } = await invoke(args)
      assert.deepEqual([code, err.split('\n')[0]], [2, `mailstead thing: ${message}`])
    })
  }

  it('finds actions of two words, and the nearest one', async () => {
    const nested = {
      'box open': { ...ACTIONS['take'], usage: 'box open ID' },
      'box shut': ACTIONS['print'],
    } as CliActions
    const run = (...args: string[]): Promise<CommandResult> =>
      runCommand((words, io) => runActions('thing', nested, words, io), args)
    assert.strictEqual((await run('box', 'open', 'x')).err, 'no x\n')
    assert.match((await run('box', 'opne', 'x')).err, /unknown action "opne". Did you mean open\?/)
    assert.match((await run('bxo')).err, /unknown action "bxo". Did you mean box\?/)
    assert.match((await run('box')).err, /an action is missing/)
    // a word of the second level, or what other programs call it
    assert.match((await run('shut')).err, /unknown action "shut"\. Did you mean box shut\?/)
  })

  it('colours results on a terminal only', async () => {
    const coloured = async (args: string[], out: boolean): Promise<string> => {
      let text = ''
      const io = { env: {}, hasColours: { out, err: out }, out: (part: string) => (text += part), err: () => {} }
      await runActions('thing', ACTIONS, args, io)
      return text
    }
    for (const args of [['states'], ['make', '--help']]) {
      assert.include(await coloured(args, true), '\u001b[')
      assert.notInclude(await coloured(args, false), '\u001b[')
    }
    assert.notInclude(await coloured(['states', '--json'], true), '\u001b[')
  })

  it('does not hide an unexpected error', async () => {
    await assert.isRejected(invoke(['break']), /a bug/)
  })

  it('runs a command with a single action', async () => {
    const { code, out } = await runCommand(
      (words, io) =>
        runAction(
          'thing',
          { ...DESCRIBED, usage: '', run: (one) => Promise.resolve(one.respond('done', {})) },
          words,
          io,
        ),
      [],
    )
    assert.deepEqual([code, out], [0, 'done\n'])
  })

  it('aligns tables, and removes control characters', () => {
    assert.strictEqual(
      tableText(
        ['ID', 'NAME'],
        [
          ['1', 'long name'],
          ['22', '\u001b[31mred\n'],
        ],
      ),
      'ID  NAME\n1   long name\n22  ?[31mred?',
    )
  })
})
