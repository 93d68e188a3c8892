/** Plans of workspaces, and the bounce and complaint rates that pause one. */
import { choice, count, decimal, seconds, text } from './readers.ts'
import { optional, setting } from './setting.ts'

export const workspaceSettings = {
  defaultPlan: setting({
    env: 'DEFAULT_PLAN',
    read: choice('free', 'launch', 'custom', 'enterprise'),
    default: 'free',
    description: 'Plan of a new workspace: `free`, `launch`, `custom` or `enterprise`.',
  }),
  plansFile: optional({
    env: 'PLANS_FILE',
    read: text,
    description: 'JSON file that replaces or adds plans. `config/plans.ts` shows the shape.',
  }),
  workspacePauses: setting({
    env: 'WORKSPACE_PAUSES',
    read: choice('on', 'off'),
    default: 'on',
    description:
      'Whether a workspace with a high bounce or complaint rate is paused: `on` or `off`. ' +
      'Its mail waits until `mailstead workspace resume`.',
    guide: 'traffic-shaping',
  }),
  pauseBounceShare: setting({
    env: 'PAUSE_BOUNCE_SHARE',
    read: decimal,
    default: '0.1',
    description: 'Share of messages to addresses that do not exist above which a workspace is paused.',
    guide: 'traffic-shaping',
  }),
  pauseComplaintShare: setting({
    env: 'PAUSE_COMPLAINT_SHARE',
    read: decimal,
    default: '0.005',
    description: 'Share of delivered messages with a complaint above which a workspace is paused.',
    guide: 'traffic-shaping',
  }),
  pauseMinimum: setting({
    env: 'PAUSE_MINIMUM',
    read: count,
    default: '1000',
    unit: 'messages',
    description: 'Messages a workspace must send within the window before its rates are evaluated.',
    guide: 'traffic-shaping',
  }),
  pauseWindowSeconds: setting({
    env: 'PAUSE_WINDOW_SECONDS',
    read: seconds,
    default: '86400',
    unit: 's',
    description: 'Window over which the rates are evaluated, in whole hours.',
    guide: 'traffic-shaping',
  }),
}
