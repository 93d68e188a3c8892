import { assert } from 'chai'
import { optionNamed } from './api-action.ts'

describe('the name of a field in errors of a command', () => {
  const action = { options: ['audience', 'body-file', 'events', 'reply-to'], flags: ['force'] }
  const CASES: readonly (readonly [path: string, name: string])[] = [
    ['audience_id', '--audience'],
    ['audienceId', '--audience'],
    ['body', '--body-file'],
    ['events.0', '--events'],
    ['event_types', '--events'],
    ['replyTo', '--reply-to'],
    ['force', '--force'],
    // the id is an argument
    ['id', 'id'],
    ['', ''],
  ]
  for (const [path, name] of CASES) it(`${path} is ${name}`, () => assert.strictEqual(optionNamed(action, path), name))
})
