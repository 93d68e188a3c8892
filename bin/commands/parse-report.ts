/**
 * `mailstead parse-report`: reads a raw bounce or complaint from stdin and prints it as JSON: kind, recipients with
 * status and class, and the Message-ID of the original mail. Needs no database and no settings.
 */
import { buffer } from 'node:stream/consumers'
import { runAction } from '#bin/cli/actions.ts'
import type { CliAction, CommandIo } from '#bin/cli/call.ts'
import { parseReport } from '#mta/classify/report.ts'

const ACTION: CliAction = {
  summary: 'parse a bounce or complaint from stdin and print it as JSON',
  examples: ['< bounce.eml'],
  usage: '< mail.eml',
  run: async (call) => {
    const { kind, recipients, feedbackType, originalMessageId } = parseReport(await buffer(process.stdin))
    call.io.out(
      `${JSON.stringify(
        {
          kind,
          recipients,
          ...(feedbackType === null ? {} : { feedback_type: feedbackType }),
          ...(originalMessageId === null ? {} : { original_message_id: originalMessageId }),
        },
        null,
        2,
      )}\n`,
    )
    return 0
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runAction('parse-report', ACTION, args, io)
}
