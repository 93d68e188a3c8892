/** A misspelt action, option or value is answered with the one that was probably meant, before any store is opened. */
import { assert } from 'chai'
import type { CommandIo } from '#bin/cli/call.ts'
import { runCommand } from '#test/support/command.ts'
import { run as audience } from './audience.ts'
import { run as campaign } from './campaign.ts'
import { run as domain } from './domain.ts'
import { run as egress } from './egress.ts'
import { run as key } from './key.ts'
import { run as queue } from './queue.ts'
import { run as statistics } from './statistics.ts'
import { run as webhook } from './webhook.ts'

type Run = (args: string[], io?: CommandIo) => Promise<number>

const KEY = ['create', '--workspace', 'w', '--type']
const SOURCE = ['source', 'add', 'a', '--address', '192.0.2.1', '--ehlo', 'a.example']

const CASES: readonly (readonly [run: Run, args: string[], message: RegExp])[] = [
  [campaign, ['lsit'], /unknown action "lsit"\. Did you mean list\?/],
  // the word of another program, or of another command here
  [webhook, ['add'], /unknown action "add"\. Did you mean create\?/],
  [audience, ['delete', 'x'], /unknown action "delete"\. Did you mean remove\?/],
  [egress, ['list'], /unknown action "list"\. Did you mean source list or pool list\?/],
  [egress, ['source', 'lst'], /unknown action "lst"\. Did you mean list\?/],
  [statistics, ['--by', 'tag'], /an action is missing: write one of show, links before --by/],
  [campaign, ['list', '--statsu', 'sent'], /unknown option --statsu\. Did you mean --status\?/],
  [key, [...KEY, 'admn'], /--type must be one of admin, regular; did you mean admin\?/],
  [key, [...KEY, 'admin', '--scopes', 'contacts:reed'], /--scopes must be all, or .*; did you mean contacts:read\?/],
  [domain, ['add', '--workspace', 'w', 'a.example', '--region', 'us-est-1'], /--region .*; did you mean us-east-1\?/],
  [egress, [...SOURCE, '--region', 'us-east-11'], /--region must be one of .*; did you mean us-east-1\?/],
  [queue, ['count', '--by', 'teir'], /--by must be one of .*; did you mean tier\?/],
]

describe('near misses on the command line', () => {
  for (const [run, args, message] of CASES)
    it(args.join(' '), async () => {
      const { code, err } = await runCommand(run, args)
      assert.strictEqual(code, 2)
      assert.match(err, message)
    })
})
