# SPDX-License-Identifier: Apache-2.0
# Tests that read records source this file after lib.sh. It has a database and a slurmdbd of the
# test's own. start_records comes before start_cluster.
for records_p in slurmdbd mariadbd mariadb-install-db sacctmgr sacct; do
	command -v $records_p >/dev/null && continue
	trap - EXIT
	rm -rf "$tmp"
	skip_all "$records_p is not installed"
done

db() { mariadb --no-defaults --socket="$tmp/db.sock" "$@"; }
start_slurmdbd() { slurmdbd >>"$tmp/start.log" 2>&1; }

start_records() {
	# shellcheck disable=SC2046
	set -- $(free_ports)
	db_port=$1
	dbd_port=$2
	# Durability takes most of a database's time, and does not matter here.
	mariadb-install-db --no-defaults --user=root --datadir="$tmp/db" --auth-root-authentication-method=normal \
		--skip-test-db --innodb-flush-method=nosync --innodb-log-file-size=4M >"$tmp/db.log" 2>&1
	mariadbd --no-defaults --user=root --datadir="$tmp/db" --socket="$tmp/db.sock" --pid-file="$tmp/db.pid" \
		--bind-address=127.0.0.1 --port="$db_port" --innodb-flush-method=nosync --innodb-log-file-size=4M \
		--innodb-flush-log-at-trx-commit=0 >>"$tmp/db.log" 2>&1 &
	await db -e "select 1"
	db -e "create user slurm@localhost identified by 'slurm'; grant all on *.* to slurm@localhost"
	cat >"$tmp/slurmdbd.conf" <<END
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$dbd_port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$tmp/munge.sock
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$db_port
StorageUser=slurm
StoragePass=slurm
PidFile=$tmp/slurmdbd.pid
LogFile=$tmp/slurmdbd.log
END
	chmod 600 "$tmp/slurmdbd.conf"
	start_munged
	start_slurmdbd
	records="AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$dbd_port
AccountingStoragePass=$tmp/munge.sock"
}

# record JOB prints the admin comments of the job's runs.
record() { sacct -D -n -X -P -j "$1" -o AdminComment; }
