/**
 * Families of words by which a notice of a server is told from a person's mail: who writes, under which subject, with which first words; in
 * English and in the languages of failure-patterns-localised.ts. Read by notice-kind.ts.
 */
import { anyOf } from './text-patterns.ts'

export const MAILER_DAEMON = anyOf(
  String.raw`mailer-?daemon|post_?master|mail[ ._-]?(?:delivery|administrator|system|server|service|gateway|router)|mail ?scanner`,
  String.raw`system administrator|mdaemon|internet mail (?:delivery|service)|\bmailer\b|delivery[ ._-]?(?:system|service|subsystem|agent)`,
  String.raw`(?:smtp|mail)[ ._-]?(?:\w+[ ._-]?)?gateway|smtp[ ._-]?(?:mail|server|service)|anti-?virus|interscan|\bimss@|mailsweeper|` +
    String.raw`mailmarshal|` +
    String.raw`scanmail|\bmta\d*@|microsoft ?exchange|mail-?monitor|groupwise`,
)

export const FAILURE_SUBJECT = anyOf(
  String.raw`undeliver|fail(?:ure|ed)|return(?:ed|ing)|delivery (?:status )?(?:notification|report|problem|error)`,
  String.raw`non[- ]?(?:remis|deliver|distribu)|not deliver|could ?n[o']t (?:be )?(?:\w+ )?(?:deliver|sen[dt])|could not send|bounce`,
  String.raw`mail (?:system )?error|rejected|mail server error|error sending|problem deliver|unable to (?:deliver|send)|(?:processing|` +
    String.raw`sending) error`,
  String.raw`delivery incomplete|message status|warning: (?:message|could not)|(?:user|address|recipient|host) (?:unknown|not found)`,
  String.raw`unzustellbar|nicht zugestellt|nicht zustellbar|zustell\w*fehl|fehlgeschlagen|[ée]chec|retour [àa] l|non (?:d[ée]livr|recens)`,
  String.raw`no (?:se )?(?:ha )?(?:pud|pued)\w+ (?:ser )?entreg|no entreg|devuelto|devolvid[oa]|n[ãa]o (?:foi )?entreg|falha|` +
    String.raw`mancat[ao] (?:consegna|recapito)`,
  String.raw`impossibile (?:recapitare|consegnare|inviare)|onbestelbaar|niet afgeleverd|niet bezorgd|kunde inte levereras|` +
    String.raw`kunne ikke leveres`,
  String.raw`niedostarczon|nie dostarczon|nedoru[čc]en|не (?:был[оа]? )?доставлен|недоставлен|возвра[щт]|teslim edilemedi`,
  String.raw`kan (?:inte|ikke) leveres?ras?|kunne ikke levere|toimitus ep[äa]onnistui|k[ée]zbes[íi]thetetlen|nelivrat|` +
    String.raw`n[ãa]o [ée] poss[íi]vel entregar|mancata consegna|не (?:може бути )?доставлено|αδύνατη η παράδοση`,
  String.raw`配信(?:できません|不能|エラー|失敗)|送信(?:できません|エラー|失敗)|配送(?:できません|エラー|失敗)|不達|戻り|エラー通知`,
  String.raw`退信|退回|(?:失败|失敗)|无法(?:投递|送达|发送)|無法(?:投遞|送達|傳遞)|未送达|未送達|반송|배달 ?(?:실패|불가)|전송 ?실패`,
)

export const FAILURE_TEXT = anyOf(
  String.raw`(?:could not|couldn't|cannot|can't|wasn't able to|was not able to|unable to|not) (?:be )?(?:\w+ )?(?:deliver|sen[dt]|` +
    String.raw`reach|relay)`,
  String.raw`(?:was|were|is|has|have)(?: not|n't)(?: been)? (?:deliver|sen[dt]|reach|accepted)`,
  String.raw`deliver(?:y|ed|ing)?\b[^.\n]{0,80}\b(?:fail|error|unsuccess|problem|impossible|not possible)`,
  String.raw`permanent (?:fatal )?(?:error|failure)|fatal errors|(?:following|these|failed|affected) (?:recipient|address|user)s?\b|` +
    String.raw`undeliver`,
  String.raw`did not (?:reach|receive)|returned (?:message|mail)|failure reasons|transcript of session|message (?:was )?rejected`,
  String.raw`mailbox (?:is |was )?(?:full|unavailable|not found)|error message below|recipients? (?:returned|were affected)|may not exist`,
  String.raw`no such (?:user|recipient|mailbox|address)|(?:user|recipient|address) (?:is |was )?(?:unknown|not found)|unknown (?:user|` +
    String.raw`recipient)`,
  String.raw`(?:has been|was|is being|been) (?:returned|bounced|rejected)\b|invalid final delivery|delivery failed|over (?:\w+ )?quota|` +
    String.raw`quota (?:exceeded|violation)`,
  String.raw`nicht (?:zugestellt|ausgeliefert|[üu]e?bermittelt|zustellen)|unzustellbar|pas pu [êe]tre|n'a pas [ée]t[ée] (?:d[ée]livr|` +
    String.raw`remis|distribu)`,
  String.raw`no (?:se )?(?:ha )?(?:pud|pued)\w+ (?:ser )?(?:entreg|envi)|n[ãa]o (?:p[ôo]de|foi|pode) (?:ser )?(?:entreg|envi)|` +
    String.raw`impossibile (?:recap|conseg)`,
  String.raw`non [èe] stat[oa] (?:recapitat|consegnat)|niet (?:afgeleverd|bezorgd|worden)|inte levereras|ikke leveres|` +
    String.raw`nie (?:zosta[łl]\w* )?dostarcz`,
  String.raw`delivery of the (?:e-?mail|message) was stopped`,
  String.raw`falha na entrega|(?:gick|kunde) inte (?:att )?levereras?|gik ikke at levere|kunne ikke leveres? til|` +
    String.raw`dostarczenie \S[^.\n]{0,80} nie powiod|teslim edileme|toimitus [^.\n]{0,60}ep[äa]onnistui|` +
    String.raw`k[ée]zbes[íi]t\w*[^.\n]{0,60} (?:sikertelen|nem siker[üu]lt)`,
  String.raw`(?:не может быть|не (?:был[оа]? )?|невозможно )доставл?|配信(?:でき|され)ま|送信でき|配送でき|お届けでき|届けることができ`,
  String.raw`无法(?:投递|送达|发送|送到)|無法(?:投遞|送達|傳遞|傳送)|投递失败|发送失败|未能送达|退回|전송하지 못|배달되지`,
)

export const DELAY_SUBJECT = anyOf(
  String.raw`\bdelay(?:ed)?\b|\bwarning\b|still being retried|verz[öo]e?ger|warnung|retard|p[ée]ndiente|retras|atras|` +
    String.raw`attesa|ritard|vertraag|f[öo]rdr[öo]j|forsink|op[óo][źz]n|zpo[žz]d|задерж|затримк|gecik|遅延|遅れ|延迟|延遲|지연`,
)
export const DELAY_TEXT = anyOf(
  String.raw`(?:has|have|had|is|was) (?:not yet been|been|being)? ?(?:delivered|delayed|postponed)[^.\n]{0,60}`,
  String.raw`not yet (?:been )?delivered|will (?:be|continue to be|keep) (?:re)?tr(?:ied|y)|warning (?:message )?only`,
  String.raw`temporary (?:failure|delay) report|still (?:being retried|trying)|(?:will )?continue (?:to (?:try|attempt)|trying|` +
    String.raw`delivery attempts)`,
  String.raw`noch nicht (?:zugestellt|ausgeliefert)|zustellung [^.\n]{0,80}verz[öo]e?ger|(?:weiterhin|weiter) versucht|zustellversuche|` +
    String.raw`pas encore (?:[ée]t[ée] )?(?:remis|d[ée]livr|distribu)|remise [^.\n]{0,80}retard[ée]e|continuera [àa] (?:essayer|tenter)`,
  String.raw`a[úu]n no (?:se ha |ha sido )?(?:entreg|enviad)|(?:se )?seguir[áa] intentando|ainda n[ãa]o foi entregue|` +
    String.raw`continuar[áa] tentando|non [èe] (?:stato )?ancora (?:stat[oa] )?(?:recapit|consegn)|ancora in attesa|` +
    String.raw`nog niet (?:afgeleverd|bezorgd)|` +
    String.raw`vertraagd`,
  String.raw`[äa]nnu inte levererats|endnu ikke (?:blevet )?leveret|jeszcze nie (?:zosta[łl]\w* )?dostarcz|` +
    String.raw`ещ[её] не (?:был[оа]? )?доставлен|(?:попытки|попытк\S+) доставки будут|hen[üu]z teslim edilmedi`,
  String.raw`配信が遅れ|引き続き(?:試行|配信)|再送(?:を試み|し続け)|尚未(?:送达|送達|投递|投遞)|(?:继续|繼續|重新)(?:尝试|嘗試)|지연되|계속 시도`,
  String.raw`do not need to re-?send|deliver\w* attempts will continue|will be (?:re)?attempted|will (?:re-?)?try (?:again|to deliver)`,
)
export const CERTAIN_DELAY_TEXT = anyOf(
  String.raw`warning (?:message )?only|not yet (?:been )?delivered|temporary (?:failure|delay) report|just a warning|advisory[- ]only`,
  String.raw`deliver\w* attempts will continue|will continue to (?:try|attempt)`,
)
export const PERMANENT_FAILURE_TEXT = /permanent(?:ly)?\b|given up|giving up|will not be re-?tri|failed permanently|fatal/i

export const AUTO_REPLY_SUBJECT = anyOf(
  String.raw`^\s*(?:(?:re|aw|fwd?|sv|vs|odp|antw|tr|rv|res)\s*:\s*)*(?:auto\s*:|\[?auto(?:matic|mated|matisch\w*|matyczn\w*)?[- ]?(?:reply|` +
    String.raw`response|responder|answer|` +
    String.raw`antwort|respond|generated|antwoord|svar|odpowied[źz])|out[- ]of[- ](?:the[- ])?office|away\b|(?:i am|` +
    String.raw`i'm) (?:\w+ )?(?:away|out|on)|` +
    String.raw`vacation|on (?:holiday|annual |leave|vacation)|abwesen|urlaub|r[ée]ponse automatique|absen(?:ce|t)|risposta automatica|` +
    String.raw`assenza|` +
    String.raw`fuori (?:sede|ufficio)|respuesta autom|resposta autom|fuera de (?:la )?oficina|fora do escrit|ausencia|aus[êe]ncia|` +
    String.raw`autosvar|` +
    String.raw`fr[åa]nvaro|afwezig|poissaolo|nieobecno|автоответ|автоматический ответ|自動応答|自動返信|不在|休暇|自动(?:回复|答复)|自動回覆|` +
    String.raw`自動回復|부재|자동 ?(?:응답|회신)|otomatik yan[ıi]t|` +
    String.raw`automaattinen|automatisk(?:t)? (?:svar|besked)|automatick[áa] odpov[ěe][ďd]|automatikus v[áa]lasz|r[ăa]spuns automat|` +
    String.raw`automatyczna odpowied[źz]|odpowied[źz] automatyczna|automatski odgovor|samodejni odgovor|αυτόματη απάντηση|` +
    String.raw`автоматична (?:відповідь|одговор)|автоматичен отговор|balasan otomatis|tr[ảa] l[ờo]i t[ựu] [đd][ộo]ng|` +
    String.raw`ตอบกลับอัตโนมัติ|תשובה אוטומטית|מענה אוטומטי|رد تلقائي|الرد التلقائي)`,
)
/** Of a person who is not there, in a mail that says by its Precedence that nobody wrote it. */
export const OUT_OF_OFFICE_TEXT = anyOf(
  String.raw`\b(?:i am|i'm|i will be|i'll be|will be|am|is) (?:currently |presently |now )?(?:out of (?:the |my )?office|away|abroad|` +
    String.raw`on (?:\w+ )?` +
    String.raw`(?:vacation|holidays?|leave))|out of (?:the )?office|automat(?:ed|ic) (?:reply|response|acknowledg)|` +
    String.raw`vacation (?:message|reply)`,
  String.raw`(?:im|in) urlaub|nicht (?:im (?:haus|b[üu]e?ro)|erreichbar)|au[ßs]s?er haus|en (?:cong[ée]|vacances|d[ée]placement)|` +
    String.raw`sono (?:assente|in ferie)`,
  String.raw`(?:estoy|estar[ée]) (?:fuera|de vacaciones|ausente)|(?:estou|estarei) (?:fora|ausente|de f[ée]rias)|в отпуске|出張|休暇|不在`,
)
export const CHALLENGE_RESPONSE = anyOf(
  String.raw`(?:confirm|verify) (?:your|that you|this) (?:message|e-?mail|identity|address|are)|\bchallenge[- ]response`,
  String.raw`to (?:prove|verify) (?:that )?you(?:'re| are) (?:a )?(?:human|not a)|spam ?arrest|boxbe|\btmda\b`,
  String.raw`added to (?:the |my |your )?(?:\S+ )?(?:allowed|approved|white|guest)[- ]?(?:senders? )?list|` +
    String.raw`(?:click|follow)[^.\n]{0,60} to (?:ensure|complete|` +
    String.raw`release|approve)[^.\n]{0,30}(?:delivery|message|mail)`,
  String.raw`only from senders (?:that )?i have approved|antispam uol|confirme (?:o seu endere[çc]o|su direcci[óo]n)`,
  String.raw`your (?:message|e-?mail) (?:is|has been) (?:waiting|held|quarantined)[^.\n]{0,80}(?:confirm|approv|click|reply)`,
)
