import { assert } from 'chai'
import { runCommand, type CommandResult } from '#test/support/command.ts'
import { type CliAction, runAction, runActions, UsageError } from './actions.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'

/** Control characters and escape sequences of a terminal. */
const HOSTILE = '\u001b[31m\u009b2J\u0007\u007f\r<b>'

const ACTIONS: Readonly<Record<string, CliAction>> = {
  make: {
    usage: 'make --name N [--big] [WORD]',
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
  take: { usage: 'take ID', arguments: [1, 1], run: (call) => Promise.resolve(call.fail(`no ${call.argument(0)}`)) },
  refuse: { usage: 'refuse', run: () => Promise.reject(new UsageError('not like this')) },
  print: { usage: 'print', run: (call) => Promise.resolve(call.respond(`one\n\ttwo ${HOSTILE}`, { text: HOSTILE })) },
  break: { usage: 'break', run: () => Promise.reject(new Error('a bug')) },
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

  it('prints its usage with --help', async () => {
    const all = await invoke(['--help'])
    assert.deepEqual([all.code, all.err], [0, ''])
    assert.strictEqual(all.out.split('\n').length, Object.keys(ACTIONS).length + 1)
    assert.deepEqual(await invoke(['make', '-h']), {
      code: 0,
      out: 'Usage: mailstead thing make --name N [--big] [WORD] [--json]\n',
      err: '',
    })
  })

  it('does not hide an unexpected error', async () => {
    await assert.isRejected(invoke(['break']), /a bug/)
  })

  it('runs a command with a single action', async () => {
    const { code, out } = await runCommand(
      (words, io) =>
        runAction('thing', { usage: '', run: (one) => Promise.resolve(one.respond('done', {})) }, words, io),
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
