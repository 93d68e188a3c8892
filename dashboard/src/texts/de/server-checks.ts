import type { ServerTexts } from '#dashboard/src/texts/en/server.ts'

/** What the checks of the installation find, and what to do about it. */
export const checks: ServerTexts = {
  'text.about': '{subject}:',
  'text.verbatim': '{text}',

  'doctor.postgres_away': 'PostgreSQL ist nicht erreichbar.',
  'doctor.redis_away': 'Redis ist nicht erreichbar.',
  'doctor.redis_embedded': 'Das eingebaute Redis läuft nur, solange Mailstead läuft.',
  'doctor.late_answer': 'Keine Antwort innerhalb von {seconds} s.',
  'doctor.again_todo':
    'Führen Sie mailstead doctor erneut aus. Scheitert die Prüfung wieder, sehen Sie nach der Last und den Logs von PostgreSQL und Redis.',
  'doctor.more': 'Und {count} weitere.',

  'doctor.backup_unchecked': 'BACKUP_WARNING_HOURS=none: nicht geprüft.',
  'doctor.backup_sandbox': 'Keine. Eine Sandbox braucht keine.',
  'doctor.backup_missing': 'Es gibt keine Sicherung.',
  'doctor.backup_todo': 'mailstead backup macht eine. Führen Sie es jeden Tag mit einem Timer aus.',
  'doctor.backup_last': 'Die letzte ist vom {at}: {bytes|Byte|Byte} in {target}.',
  'doctor.backup_old': 'Die letzte ist vom {at} ({hours|Stunde|Stunden} alt): {bytes|Byte|Byte} in {target}.',
  'doctor.backup_plain': 'Die letzte ist vom {at} und nicht verschlüsselt: {bytes|Byte|Byte} in {target}.',
  'doctor.backup_plain_todo': 'Setzen Sie BACKUP_RECIPIENTS.',

  'doctor.reports_late': '{waiting|Bericht wartet|Berichte warten}, der älteste seit {oldest}.',
  'doctor.reports_late_todo': 'Prüfen Sie, ob die Rolle inbound läuft, und lesen Sie ihr Log.',
  'doctor.bounces_held': 'Ungewöhnlich viele Hard Bounces bei {list}. Sperrungen werden zurückgehalten.',
  'doctor.bounces_held_todo': 'mailstead bounces held listet sie auf. Sie enden von selbst.',
  'doctor.reports_processed': 'Alle Berichte sind verarbeitet.',
  'doctor.postmaster_mails': '{count|Mail|Mails} an den Postmaster in einer Woche: mailstead bounces list --letters',

  'doctor.clock_behind': 'PostgreSQL geht {ms} ms nach.',
  'doctor.clock_ahead': 'PostgreSQL geht {ms} ms vor.',
  'doctor.skew_behind': 'Die Uhr dieses Rechners geht {amount} {unit} gegenüber PostgreSQL nach.',
  'doctor.skew_ahead': 'Die Uhr dieses Rechners geht {amount} {unit} gegenüber PostgreSQL vor.',
  'doctor.skew_days_behind': 'Die Uhr dieses Rechners geht {amount} Tage gegenüber PostgreSQL nach.',
  'doctor.skew_days_ahead': 'Die Uhr dieses Rechners geht {amount} Tage gegenüber PostgreSQL vor.',
  'doctor.clocks_agree': '{count|Prozess stimmt|Prozesse stimmen} mit PostgreSQL überein.',
  'doctor.clock_refused': 'Prozesse dort nehmen keine Mail an und bearbeiten keine.',
  'doctor.clock_todo': 'Synchronisieren Sie die Uhren beider Rechner mit NTP.',

  'doctor.zone_unset': 'DKIM_ZONE ist nicht gesetzt: Die Besitzer der Domains veröffentlichen ihre Schlüssel.',
  'doctor.zone_late': '{pending|Änderung|Änderungen} der Zone mit DKIM-Schlüsseln seit {oldest} nicht veröffentlicht.',
  'doctor.zone_late_why':
    '{pending|Änderung|Änderungen} der Zone mit DKIM-Schlüsseln seit {oldest} nicht veröffentlicht: {problem}',
  'doctor.zone_todo':
    'mailstead domain zone --pending zeigt sie. Korrigieren Sie DKIM_ZONE_COMMAND, oder veröffentlichen Sie sie von Hand.',
  'doctor.zone_records': '{records|Eintrag|Einträge} in {zone}.',
  'doctor.zone_records_previous': '{records|Eintrag|Einträge} in der früheren DKIM_ZONE.',

  'doctor.no_source': 'Es gibt keine Ausgangsadresse: Das System wählt die Adresse.',
  'doctor.sources_todo':
    'Setzen Sie eine Quelle fort, oder stellen Sie ihre Adresse wieder her. Bis eine Quelle nutzbar ist, wartet die Mail.',
  'doctor.default_pool_todo': 'Fügen Sie dem Pool {pool} eine Quelle hinzu: Er sendet die Mail der Pools ohne Quellen.',
  'doctor.source_gone_todo': 'Fügen Sie {addresses} einem Rechner hinzu, der sendet, oder entfernen Sie die Quelle.',

  'doctor.hosted_sandbox':
    'Wird auf dem Host der API angezeigt, in einer Sandbox des Browsers: Keine Mail verlässt diesen Rechner.',
  'doctor.hosted_shared':
    '„Im Browser ansehen“ zeigt das HTML von Kunden auf {host}, in einer Sandbox des Browsers (Content-Security-Policy).',
  'doctor.hosted_shared_todo':
    'Setzen Sie HOSTED_MAIL_URL auf einen eigenen Hostnamen, am besten in einer anderen registrierten Domain.',
  'doctor.hosted_used': 'HOSTED_MAIL_URL hat den Host von {settings} ({host}). Gehostete Mail ist so nicht getrennt.',
  'doctor.hosted_used_todo': 'Setzen Sie HOSTED_MAIL_URL auf einen Hostnamen, den nichts anderes benutzt.',
  'doctor.hosted_own': 'Wird auf {host} angezeigt. Dort liegt nichts anderes.',

  'doctor.no_mail_leaves': 'Keine Mail verlässt eine Sandbox.',
  'doctor.no_mail_leaves_machine': 'Keine Mail verlässt diesen Rechner.',
  'doctor.not_checked': 'Nicht geprüft.',
  'doctor.campaigns_held': 'Kampagnen werden zurückgehalten, bis das behoben ist.',

  'doctor.node_old': '{version} ist zu alt.',
  'doctor.node_todo': 'Starten Sie Mailstead mit bin/mailstead. Das installiert Node {version}.',
  'doctor.mode_sandbox': 'Sandbox: Keine Mail verlässt diesen Rechner.',
  'doctor.mode_sandbox_todo': 'Um Mail ins Internet zu senden, setzen Sie MODE=live und MAILSTEAD_HOSTNAME={name}.',
  'doctor.mode_live': 'Live: Mail verlässt diesen Rechner als {name}.',
  'doctor.mode_unset':
    'MODE ist nicht gesetzt: Mail geht als {name} dorthin, wohin DNS_SERVERS oder ROUTES sie leiten.',
  'doctor.mode_unset_todo':
    'Setzen Sie MODE=live und MAILSTEAD_HOSTNAME auf den öffentlichen Namen dieses Servers, oder MODE=sandbox.',
  'doctor.disk_unknown': 'Der freie Speicherplatz ist nicht bekannt.',
  'doctor.disk_free': '{gigabytes} GB frei in {folder}.',
  'doctor.disk_todo': 'Schaffen Sie Platz, oder setzen Sie DATA_DIR auf eine größere Platte.',

  'doctor.dns_sandbox': 'Die Sandbox hat ihren eigenen DNS-Server.',
  'doctor.dns_unset': 'Kein Server ist eingestellt.',
  'doctor.dns_silent': 'Keine Antwort von {servers}.',
  'doctor.dns_todo': 'Prüfen Sie DNS_SERVERS, oder die Resolver des Systems (/etc/resolv.conf).',

  'doctor.no_notices': 'Keine offenen Hinweise.',
  'doctor.notices_todo': 'mailstead notices listet alle auf. mailstead notices ack ID bestätigt einen.',

  'doctor.http_closed': 'Port {port} ist an keiner öffentlichen Adresse dieses Rechners offen.',
  'doctor.http_open':
    'Port {port} ist offen an {addresses}. Schlüssel und Passwörter, die dorthin gesendet werden, sind nicht verschlüsselt.',
  'doctor.http_todo':
    'Lassen Sie ihn nur auf 127.0.0.1 lauschen (HTTP_HOST; für HTTPS_PORT gilt HTTPS_HOST; oder ListenStream= von mailstead-api.socket), oder schließen Sie ihn in der Firewall.',

  'doctor.queue_in_time': 'Keine Mail ist verspätet.',
  'doctor.queue_seconds': 'Mail der Stufe {tier} ist seit {seconds} s fällig.',
  'doctor.queue_minutes': 'Mail der Stufe {tier} ist seit {minutes|Minute|Minuten} fällig.',
  'doctor.queue_hours': 'Mail der Stufe {tier} ist seit {hours|Stunde|Stunden} fällig.',
  'doctor.queue_todo':
    'mailstead queue status zeigt, was sie aufhält. mailstead explain ID zeigt den Grund für eine Nachricht.',

  'doctor.nothing_stored': 'Keine Nachrichten sind gespeichert.',
  'doctor.oldest_partition': 'Die älteste Partition der Nachrichten beginnt am {date}.',
  'doctor.overdue': '{what} hätte vor {days|Tag|Tagen} gelöscht werden müssen.',
  'doctor.overdue_todo':
    'Prüfen Sie, ob ein Worker läuft, und lesen Sie sein Log. mailstead retention list zeigt alles.',

  'doctor.redis_unreachable': 'Nicht erreichbar ({problem}).',
  'doctor.redis_unreachable_todo':
    'Prüfen Sie, ob es läuft, und REDIS_URL. Ohne diese Einstellung startet npm start ein eigenes.',
  'doctor.version': 'Version {version}.',
  'doctor.aof': 'Append-only-Datei.',
  'doctor.aof_missing': 'Keine Append-only-Datei: Nach einem Neustart wird der Zeitplan aus PostgreSQL neu aufgebaut.',
  'doctor.aof_missing_todo': 'Setzen Sie appendonly yes. Dann gehen Neustarts schneller.',

  'doctor.no_verified_domain': 'Keine Domain ist durch ihre DNS-Einträge verifiziert.',
  'doctor.return_path_own': 'Jede verifizierte Domain hat ihren eigenen Return-Path (MAIL FROM).',
  'doctor.return_path_missing':
    'Verifizierte Domains ohne eigenen Return-Path (MAIL FROM): {lacking} von {verified}, nämlich {list}.',
  'doctor.return_path_todo':
    'Empfohlen: Veröffentlichen Sie die MX- und TXT-Einträge von {names} (mailstead domain verify DOMAIN sagt, was fehlt). Dann besteht SPF für die Domain in From.',

  'doctor.sender_dmarc': '{checked|sendende Domain|sendende Domains} mit gültigem DMARC-Eintrag.',
  'doctor.sender_dmarc_missing':
    'Ohne gültigen DMARC-Eintrag: {lacking} von {checked|sendenden Domain|sendenden Domains}.',
  'doctor.sender_dmarc_todo':
    'Veröffentlichen Sie _dmarc.DOMAIN TXT "v=DMARC1; p=none; rua=mailto:{address}" in der Zone jeder Domain, später mit einer strengeren Richtlinie. Danach: mailstead domain verify DOMAIN',

  'doctor.postgres_todo':
    'Prüfen Sie, ob es läuft, und DATABASE_URL. Ohne diese Einstellung startet npm start ein eigenes.',
  'doctor.postgres_old': 'Version {version} ist zu alt.',
  'doctor.postgres_old_todo': 'Verwenden Sie PostgreSQL 15 oder neuer.',
  'doctor.postgres_fsync':
    'Version {version}, und fsync ist aus: Bei einem Stromausfall geht angenommene Mail verloren.',
  'doctor.postgres_fsync_todo': 'Setzen Sie fsync = on.',
  'doctor.connections': '{used} in Gebrauch, {most} erlaubt.',
  'doctor.connections_todo':
    'Setzen Sie max_connections von PostgreSQL auf 200, und starten Sie es neu. Jeder Prozess von Mailstead darf 20 öffnen.',
  'doctor.migrations_removed': 'Eine spätere Version hat entfernt, was diese braucht ({names}).',
  'doctor.migrations_removed_todo': 'Verwenden Sie das spätere Programm.',
  'doctor.migrations_pending': 'Ausstehend: {names}.',
  'doctor.migrations_todo': 'Führen Sie mailstead upgrade aus.',
  'doctor.migrations_later_todo': 'Führen Sie mailstead upgrade aus, sobald keine frühere Version mehr läuft.',
  'doctor.migrations_newer': 'Die Datenbank ist neuer als dieses Programm ({names}).',
  'doctor.migrations_newer_todo': 'Verwenden Sie das neuere Programm.',
  'doctor.migrations_applied': '{count} von {all}.',

  'doctor.all_suspended': 'Der gesamte Versand ist ausgesetzt: {reason}',
  'doctor.all_suspended_todo': "mailstead queue resume '*' setzt ihn fort.",
  'doctor.none_suspended': 'Keine Mail ist ausgesetzt.',
  'doctor.suspended': 'Ausgesetzt: {list}.',
  'doctor.suspended_todo': 'mailstead queue status listet alle auf. mailstead queue resume beendet eine Aussetzung.',

  'redis.sentinel': 'Das ist ein Redis Sentinel.',
  'redis.sentinel_todo': 'Setzen Sie REDIS_URL auf das Redis, das er überwacht.',
  'redis.cluster': 'Dieses Redis läuft im Cluster-Modus. Mailstead unterstützt ihn nicht.',
  'redis.cluster_todo': 'Setzen Sie REDIS_URL auf ein Redis ohne Cluster-Modus (cluster-enabled no).',
  'redis.old': 'Version {version} ist zu alt.',
  'redis.old_todo': 'Verwenden Sie Redis 6.2 oder neuer.',
  'redis.evicts': 'maxmemory-policy ist {policy}: Redis kann Teile des Zeitplans verdrängen.',
  'redis.evicts_todo':
    'Setzen Sie maxmemory-policy noeviction, in redis.conf oder in den Einstellungen Ihres Anbieters.',
  'redis.replica': 'Dieses Redis ist eine Replik und nimmt keine Schreibzugriffe an.',
  'redis.replica_todo': 'REDIS_URL muss zum Primärserver führen.',

  'source_check.sandbox': 'In der Sandbox nicht geprüft.',
  'source_check.ptr': '{address} hat den Namen {names}.',
  'source_check.ptr_missing': '{address} hat keinen Namen (PTR).',
  'source_check.ptr_todo': 'Bitten Sie den Anbieter der Adresse, ihren PTR-Eintrag auf {name} zu setzen.',
  'source_check.without_ptr': 'Es gibt keinen PTR-Eintrag.',
  'source_check.resolves': '{name} führt zu {address}.',
  'source_check.forward_wrong': '{name} führt nicht zu {address}.',
  'source_check.forward_todo':
    'Legen Sie für {name} einen {type}-Eintrag mit {address} an, oder lassen Sie den PTR-Eintrag auf {ehlo} setzen.',
  'source_check.ehlo_missing': '{name} hat keinen {type}-Eintrag.',
  'source_check.ehlo_wrong': '{name} führt zu {found}, nicht zu {address}.',
  'source_check.ehlo_todo': 'Legen Sie für {name} einen {type}-Eintrag mit {address} an.',
  'source_check.not_here': '{address} ist nicht auf diesem Rechner.',
  'source_check.port_open': 'Port {port} von {target} ist erreichbar.',
  'source_check.port_closed': 'Port {port} von {target} ist von {address} aus nicht erreichbar.',
  'source_check.port_todo':
    'Bitten Sie Ihren Anbieter, Port 25 nach außen für diese Adresse zu öffnen, oder entfernen Sie die Quelle.',
  'source_check.no_target': 'EGRESS_CHECK_TARGET ist none.',
  'source_check.relayed': 'ROUTES sendet alle Mail an einen anderen Server.',
  'source_check.no_mail_server': 'Kein Mailserver von {target} hat einen {type}-Eintrag.',
  'source_check.no_blocklist': 'BLOCKLISTS hat keine Liste für diese Art von Adressen.',
  'source_check.listed': 'Die Adresse steht auf {zone} ({reasons}).',
  'source_check.listed_todo': 'Finden und beheben Sie die Ursache. Beantragen Sie dann die Löschung: {pages}',
  'source_check.blocklist_silent': '{zone} antwortet diesem Resolver nicht ({answer}).',
  'source_check.not_listed': 'Steht auf keiner von {count|Liste|Listen}.',
  'source_check.resolver_todo':
    'Setzen Sie DNS_SERVERS auf einen eigenen Resolver, dem die Liste antwortet, oder entfernen Sie die Liste aus BLOCKLISTS.',

  'live_check.relayed': 'ROUTES sendet alle Mail an einen anderen Server.',
  'live_check.has_sources': 'Mail geht von Ausgangsadressen aus. Diese haben eigene Prüfungen.',
  'live_check.blocklists_none': 'BLOCKLISTS ist none.',
  'live_check.no_address': '{name} hat keinen Adresseintrag.',
  'live_check.no_address_todo': 'Legen Sie für {name} einen A- oder AAAA-Eintrag an.',
  'live_check.address_unknown': 'Die Adresse dieses Servers ist nicht bekannt.',
  'live_check.no_target': 'EGRESS_CHECK_TARGET ist none.',
  'live_check.no_mail_server': 'DNS nennt keinen Mailserver von {target}.',
  'live_check.port_open': 'Port {port} von {target} ({address}) ist erreichbar.',
  'live_check.port_closed': 'Port {port} von {target} ({address}) ist nicht erreichbar.',
  'live_check.port_todo':
    'Viele Hoster sperren Port 25 nach außen. Bitten Sie Ihren, ihn zu öffnen, oder verwenden Sie ein Relay (ROUTES=*=smtp://relay:25).',
  'live_check.urls': '{urls}',
  'live_check.url_unreachable': '{setting} ist {url}. Das kann kein Leser einer Mail erreichen.',
  'live_check.url_plain': '{setting} ist {url}, also nicht HTTPS.',
  'live_check.urls_todo': 'Setzen Sie {settings} auf einen Hostnamen, der zur API führt.',
  'live_check.mx_missing': '{name} hat keinen MX-Eintrag. Bounces kommen nicht zurück.',
  'live_check.mx': '{name} hat den MX {hosts}.',
  'live_check.mx_elsewhere_leads_here': '{name} hat den MX {hosts}. Er führt hierher.',
  'live_check.mx_elsewhere': 'Der MX von {name} ist {hosts}, nicht {server}.',
  'live_check.mx_todo': 'Veröffentlichen Sie {name} MX 10 {server}',
  'live_check.mx_elsewhere_todo': 'Veröffentlichen Sie {name} MX 10 {server}, oder leiten Sie die Mail weiter.',
  'live_check.spf_todo': 'Veröffentlichen Sie {name} TXT "v=spf1 a:{server} -all"',
  'live_check.dmarc_wrong_todo': 'Korrigieren Sie den TXT-Eintrag von {name}.',
  'live_check.dmarc_missing':
    '{name} hat keinen DMARC-Eintrag. Andere können unter seinen Namen senden, und große Empfangssysteme erwarten einen.',
  'live_check.dmarc_todo':
    'Veröffentlichen Sie _dmarc.{name} TXT "v=DMARC1; p=none", später mit einer strengeren Richtlinie.',
  'live_check.reports_unknown': '{name}: DNS hat nicht geantwortet.',
  'live_check.reports_agreed': '{name}: Empfangssysteme dürfen DMARC-Berichte über die Domains von Kunden senden.',
  'live_check.reports_missing':
    '{name} hat keinen DMARC-Eintrag. Empfangssysteme senden deshalb keine Berichte über die Domains von Kunden an {domain}.',
  'live_check.reports_todo': 'Veröffentlichen Sie {name} TXT "v=DMARC1"',
  'live_check.no_https': 'Keine URL ist HTTPS.',
  'live_check.url_no_address_todo': 'Legen Sie für {name}, den Host von {url}, einen A- oder AAAA-Eintrag an.',
  'live_check.url_silent': '{host} ({address}) antwortet von hier aus nicht: {reason}',
  'live_check.url_refuses': '{host} ({address}) lehnt Verbindungen von hier aus ab.',
  'live_check.url_refuses_todo':
    'Wenn er auch von außen ablehnt: Betreiben Sie vor der API einen Proxy mit einem Zertifikat für {name}.',
  'live_check.certificate_not_accepted': 'Das Zertifikat von {host} wird nicht akzeptiert: {problem}',
  'live_check.certificate_not_accepted_todo':
    'Installieren Sie ein Zertifikat für {name} von einer Stelle, die Browser akzeptieren.',
  'live_check.certificate_expired': 'Das Zertifikat von {name} ist vor {days|Tag|Tagen} abgelaufen.',
  'live_check.certificate_valid': 'Das Zertifikat von {name} ist bis {date} gültig.',
  'live_check.certificate_ends': 'Das Zertifikat von {name} ist nur noch bis {date} gültig ({days|Tag|Tage}).',
  'live_check.certificate_todo': 'Erneuern Sie das Zertifikat, und prüfen Sie, was es erneuern soll.',
  'live_check.certificate_requested': 'Für {name} gibt es noch kein Zertifikat. Es wird beantragt.',
  'live_check.certificate_missing': 'Für {name} gibt es noch kein Zertifikat: {reason}',
  'live_check.certificate_missing_todo':
    'Warten Sie eine Minute. Bleibt es so, nennt mailstead certificate list den Grund.',
  'live_check.smtp_self_signed': 'SMTP hat ein selbst signiertes Zertifikat. Programme, die es prüfen, lehnen es ab.',
  'live_check.smtp_meanwhile': 'SMTP hat bis dahin ein selbst signiertes.',
  'live_check.smtp_other_name': 'Das Zertifikat von SMTP gilt für {names}, nicht für {name}.',
  'live_check.smtp_todo':
    'Setzen Sie TLS_CERT_FILE und TLS_KEY_FILE auf ein Zertifikat für {name}, oder setzen Sie ACME_CHALLENGE.',
  'live_check.renewal_failed': 'Die Erneuerung ist gescheitert und wird wiederholt: {reason}',

  'notice_kind.reply': 'Ein Empfangssystem meldet ein Problem, das nur der Betreiber beheben kann.',
  'notice_kind.receiver-suspended':
    'Eine Regel für Antworten hat den Versand an ein Empfangssystem eine Zeit lang ausgesetzt.',
  'notice_kind.source-gone':
    'Die Adresse einer Quelle ist nicht mehr auf diesem Rechner. Die Quelle wird nicht mehr benutzt.',
  'notice_kind.blocklisted': 'Die Adresse einer Quelle steht auf einer Sperrliste.',
  'notice_kind.workspace-paused':
    'Die Mail eines Arbeitsbereichs wurde wegen seiner Bounce- oder Beschwerderate ausgesetzt.',
  'notice_kind.database-older':
    'PostgreSQL hat seine letzten Änderungen verloren. Mail aus dieser Zeit fehlt oder wird vielleicht noch einmal gesendet.',
  'notice_kind.operator-token-refused': 'Eine Anfrage hatte ein ungültiges Betreiber-Token.',
  'notice_kind.subscribe-stopped':
    'Ein Anmeldeformular wurde viel öfter als sonst abgeschickt oder hat seine Tagesgrenze erreicht und wurde gestoppt.',
  'notice_kind.clock-skew': 'Die Uhr eines Rechners und die von PostgreSQL weichen voneinander ab.',
  'notice_kind.dead-links':
    'Links in der Mail führen ins Leere. Kampagnen und Automationen halten an, andere Mail hat kein Tracking und keinen Abmeldelink.',
  'notice_kind.dkim-zone':
    'Änderungen der Zone mit DKIM-Schlüsseln sind nicht veröffentlicht. Bis dahin signieren neue Schlüssel nicht.',
  'notice_kind.dkim-key': 'Ein DKIM-Schlüssel wird erst ersetzt, wenn jemand seine Einträge veröffentlicht.',
  'notice_kind.retention-overdue': 'Daten, deren Frist abgelaufen ist, werden nicht gelöscht.',
  'notice_kind.certificate-failing':
    'Ein Zertifikat lässt sich nicht beantragen oder erneuern. `mailstead certificate list` nennt den Grund.',
  'notice_kind.no-node-source':
    'Kein laufender Knoten hat eine Quelle eines Pools, den Absender benutzen. Ihre Mail wartet.',
  'notice_kind.outage':
    'Die Hard Bounces eines Empfangssystems sind sprunghaft gestiegen. Sperrungen werden zurückgehalten.',
}
